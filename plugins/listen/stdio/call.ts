import type { Message } from './messages.js'
import { versionOf } from './messages.js'

/** A message from the client on its way, until every request in it has its answer. */
export class Call {
  /** Resolves when nothing of it is open. */
  readonly closed: Promise<void>
  private readonly open: Set<string>
  private readonly ending = new AbortController()
  private close: () => void = () => {}
  private settled: (requests: number) => void = () => {}
  private isGone = false

  constructor(
    readonly message: Message,
    /** Sent by the bridge itself, as to bring a new session to where the old one was. The client hears nothing of it. */
    readonly isOurs = false,
  ) {
    this.open = new Set(message.asks)
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

  /** Whether all of it is on its way to the target. */
  get left(): boolean {
    return this.isGone
  }

  hasLeft(): void {
    this.isGone = true
  }

  /** Told how many requests are no longer open, each once. */
  onSettled(settled: (requests: number) => void): void {
    this.settled = settled
  }

  answered(id: string): void {
    if (this.open.delete(id)) this.settled(1)
    if (this.open.size === 0) this.close()
  }

  /** Nobody waits for it any more. */
  abandon(): void {
    this.settled(this.open.size)
    this.open.clear()
    this.close()
    this.ending.abort(new Error('the request was cancelled'))
  }
}
