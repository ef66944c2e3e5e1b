import type { Message } from './messages.js'
import { versionOf } from './messages.js'

/** A message of the client, until every request in it has its response. */
export class Call {
  /** Resolves when no request in it is open. */
  readonly closed: Promise<void>
  private readonly open: Set<string>
  private readonly ending = new AbortController()
  private close: () => void = () => {}
  private settled: (requests: number) => void = () => {}
  private sent = false

  constructor(
    readonly message: Message,
    /** The bridge itself sends the message, such as to set up a new session. The client gets no response to it. */
    readonly isInternal = false,
  ) {
    this.open = new Set(message.requestIds)
    this.closed = new Promise((resolve) => {
      this.close = resolve
    })
    if (this.open.size === 0) this.close()
  }

  get unanswered(): readonly string[] {
    return [...this.open]
  }

  get signal(): AbortSignal {
    return this.ending.signal
  }

  get method(): unknown {
    return this.message.single['method']
  }

  get isStateless(): boolean {
    return versionOf(this.message) !== undefined
  }

  /** Whether the whole message was sent to the target. */
  get isSent(): boolean {
    return this.sent
  }

  markSent(): void {
    this.sent = true
  }

  /** `settled` is called with the number of requests that are no longer open; each counts once. */
  onSettled(settled: (requests: number) => void): void {
    this.settled = settled
  }

  markAnswered(id: string): void {
    if (this.open.delete(id)) this.settled(1)
    if (this.open.size === 0) this.close()
  }

  /** The client no longer waits for a response. */
  abandon(): void {
    this.settled(this.open.size)
    this.open.clear()
    this.close()
    this.ending.abort(new Error('the request was cancelled'))
  }
}
