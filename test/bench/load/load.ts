import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from '../place.js'
import type { Order, Outcome } from './order.js'

/** The load, in a process of its own, so that what it costs troubles nobody who is measured. */
export class Load {
  private constructor(private readonly child: ChildProcess) {}

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
    const answered = once(this.child, 'message')
    this.child.send(order)
    const [message]: { outcome?: Outcome; error?: string }[] = await answered
    if (message?.outcome === undefined) throw new Error(message?.error ?? 'the load ended')
    return message.outcome
  }

  stop(): void {
    this.child.disconnect()
  }
}
