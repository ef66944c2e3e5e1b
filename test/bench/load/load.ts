import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from '../paths.js'
import type { Order, Outcome } from './order.js'

interface Answer {
  readonly outcome?: Outcome
  readonly error?: string
}

/** The load, in a process of its own, so that its cost does not disturb the measured servers. */
export class Load {
  private readonly ended: Promise<Answer[]>

  private constructor(private readonly child: ChildProcess) {
    this.ended = once(child, 'exit').then(() => [{ error: 'the load ended' }])
  }

  static async start(): Promise<Load> {
    const client = join(import.meta.dirname, 'client.ts')
    const child = spawn(process.execPath, ['-C', 'source', '--import', 'tsx', client], {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    await once(child, 'message')
    return new Load(child)
  }

  async run(order: Order): Promise<Outcome> {
    const answered: Promise<Answer[]> = once(this.child, 'message')
    this.child.send(order)
    const [answer] = await Promise.race([answered, this.ended])
    if (answer?.outcome === undefined) throw new Error(answer?.error)
    return answer.outcome
  }

  stop(): void {
    this.child.disconnect()
  }
}
