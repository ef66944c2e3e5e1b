import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Tally } from './tally.js'

/** Milliseconds without an event that are too long; the target sends two a second. */
const SILENCE = 10_000

export function openStream(port: number, token: string): Promise<IncomingMessage> {
  const asking = request({
    host: '127.0.0.1',
    port,
    path: '/mcp',
    agent: false,
    headers: { accept: 'text/event-stream', authorization: `Bearer ${token}` },
  })
  asking.end()
  return once(asking, 'response').then(([answer]: IncomingMessage[]) => {
    if (answer?.statusCode === 200) return answer
    answer?.resume()
    throw new Error(`a stream was answered with ${answer?.statusCode}`)
  })
}

/** Holds event streams open during the soak, and opens one that ended again. */
export class HeldStreams {
  private readonly open = new Set<IncomingMessage>()
  private readonly holding: Promise<void>[] = []
  private over = false

  constructor(
    private readonly port: number,
    private readonly token: () => string,
    private readonly tally: Tally,
  ) {}

  start(count: number): void {
    for (let index = 0; index < count; index++) this.holding.push(this.hold())
  }

  get count(): number {
    return this.open.size
  }

  async stop(): Promise<void> {
    this.over = true
    for (const stream of this.open) stream.destroy()
    await Promise.all(this.holding)
  }

  private async hold(): Promise<void> {
    while (!this.over) {
      const what = await this.listen().catch((error: Error) => error.message)
      if (!this.over) {
        this.tally.failed('streams', Date.now(), what, ['target', 'reload'])
        await pause(200)
      }
    }
  }

  /** Listens until the stream ends, and returns the reason. */
  private async listen(): Promise<string> {
    const stream = await openStream(this.port, this.token())
    // `stop` could not end a stream that was still being opened.
    if (this.over) stream.destroy()
    this.open.add(stream)
    this.tally.right('streams')
    let silent = setTimeout(() => {}, 0)
    try {
      const ended = new Promise<string>((resolve) => {
        const heard = (): void => {
          clearTimeout(silent)
          silent = setTimeout(() => resolve(`no event in ${SILENCE} ms`), SILENCE)
          this.tally.right('events')
        }
        stream.on('data', heard)
        stream.on('end', () => resolve('a stream ended'))
        stream.on('error', (error) => resolve(`a stream broke: ${error.message}`))
        stream.on('close', () => resolve('a stream was closed'))
        heard()
      })
      return await ended
    } finally {
      clearTimeout(silent)
      stream.destroy()
      this.open.delete(stream)
    }
  }
}
