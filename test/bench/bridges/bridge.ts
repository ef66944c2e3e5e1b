import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { memoryOfTree } from './memory.js'

/** A stdio MCP server that forwards to a remote one, and the arguments that start it. */
export interface Bridge {
  readonly name: string
  readonly argv: readonly string[]
}

const MESSAGE = 'x'.repeat(100)

/** A running bridge that has answered `initialize`. */
export class Running {
  private constructor(
    /** Milliseconds from its start to that answer. */
    readonly start: number,
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly client: Client,
  ) {}

  static async of({ name, argv }: Bridge, home: string): Promise<Running> {
    const began = performance.now()
    const child = spawn(process.execPath, argv, {
      env: { PATH: process.env['PATH'] ?? '', HOME: home },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const client = new Client(name, child)
    await client.ask('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1' },
    })
    const running = new Running(performance.now() - began, child, client)
    client.notify('notifications/initialized')
    return running
  }

  /** Milliseconds that one call of a tool takes. */
  async call(): Promise<number> {
    const began = performance.now()
    await this.client.ask('tools/call', { name: 'echo', arguments: { message: MESSAGE } })
    return performance.now() - began
  }

  /** Megabytes of memory of the bridge and its children. */
  get memory(): number {
    return memoryOfTree(this.child.pid ?? 0) / 1024 ** 2
  }

  /** Ends the input, as clients do, and kills a bridge that stays. */
  async end(): Promise<void> {
    const ended = once(this.child, 'close')
    this.child.stdin.end()
    const late = setTimeout(() => this.child.kill('SIGKILL'), 2_000)
    await ended
    clearTimeout(late)
  }
}

/** An MCP client that can only call a tool. */
class Client {
  private readonly waiting = new Map<number, (answer: Answer | Error) => void>()
  private last = 0
  private errors = ''

  constructor(
    name: string,
    private readonly child: ChildProcessWithoutNullStreams,
  ) {
    child.stderr.on('data', (text) => {
      this.errors += String(text)
    })
    child.on('close', (code) => {
      const error = new Error(`${name} ended with ${code}\n${this.errors}`)
      for (const answer of this.waiting.values()) answer(error)
    })
    createInterface({ input: child.stdout }).on('line', (line) => {
      const answer: Answer = JSON.parse(line)
      if (answer.method === undefined) this.waiting.get(answer.id)?.(answer)
    })
  }

  async ask(method: string, params: object): Promise<void> {
    const id = ++this.last
    const answer = await new Promise<Answer | Error>((resolve) => {
      this.waiting.set(id, resolve)
      this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
    this.waiting.delete(id)
    if (answer instanceof Error) throw answer
    // An error is a fast answer and must not count.
    if (answer.result?.isError !== undefined || answer.result === undefined)
      throw new Error(`${method}: ${JSON.stringify(answer)}\n${this.errors}`)
  }

  notify(method: string): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method })}\n`)
  }
}

interface Answer {
  readonly id: number
  readonly method?: string
  readonly result?: { readonly isError?: boolean }
}
