import type { ResponseBudget, Unread } from './response-budget.js'
import { noRoomForResponse, unreadResponse } from './response-failures.js'
import type { ResponseSink } from './response-writer.js'
import type { Call, ResponseHead } from './transport.js'

const BYTES_AT_ONCE = 64 * 1024

/** Passes a response on as its caller reads it. Whatever is larger than one write counts until it is written. */
export class UnreadResponse implements ResponseSink, Unread {
  readAt = 0
  private call: Call | undefined
  private waiting: Buffer[] = []
  /** How much of the first is written. */
  private written = 0
  private counted = 0
  private trailers: readonly string[] | undefined
  private timer: NodeJS.Timeout | undefined
  private discarded = false

  /** Its caller has to read something every `timeout` milliseconds. */
  constructor(
    private readonly to: ResponseSink,
    private readonly budget: ResponseBudget,
    private readonly timeout: number,
    private readonly fail: (error: unknown) => void,
  ) {}

  begin(head: ResponseHead, call: Call): void {
    this.call = call
    this.to.begin(head, { resume: () => this.goOn(), abort: () => call.abort() })
  }

  data(chunk: Buffer): boolean {
    if (this.counted === 0 && chunk.length <= BYTES_AT_ONCE) return this.to.data(chunk)
    if (!this.budget.reserve(chunk.length)) throw noRoomForResponse()
    // To make room this one may have been cut off.
    if (this.discarded) {
      this.budget.free(chunk.length)
      return false
    }
    const isFirst = this.counted === 0
    this.counted += chunk.length
    this.waiting.push(chunk)
    if (!isFirst) return false
    this.waitForReader()
    return this.write()
  }

  end(trailers: readonly string[]): boolean {
    if (this.counted === 0) return this.to.end(trailers)
    this.trailers = trailers
    return false
  }

  discard(): void {
    this.discarded = true
    this.release()
    this.to.discard()
  }

  cutOff(): void {
    this.fail(unreadResponse())
    this.release()
  }

  /** `true` when everything is written. */
  private write(): boolean {
    for (let chunk = this.waiting[0]; chunk !== undefined; chunk = this.waiting[0]) {
      const part = chunk.subarray(this.written, this.written + BYTES_AT_ONCE)
      this.written += part.length
      const isLast = this.written === chunk.length
      if (isLast) {
        this.waiting.shift()
        this.written = 0
      }
      // The response keeps it until it is sent, and would keep all of the chunk with it.
      if (!this.to.data(isLast ? Buffer.from(part) : part)) return false
    }
    this.release()
    return true
  }

  private goOn(): void {
    if (this.counted > 0) {
      this.waitForReader()
      if (!this.write()) return
    }
    if (this.trailers === undefined) this.call?.resume()
    else this.endOnce(this.trailers)
  }

  /** The writer may ask to go on after the end too. */
  private endOnce(trailers: readonly string[]): void {
    this.trailers = undefined
    this.call = undefined
    this.to.end(trailers)
  }

  private waitForReader(): void {
    this.readAt = performance.now()
    this.budget.wasRead(this)
    if (this.timer === undefined) this.timer = setTimeout(() => this.cutOff(), this.timeout)
    else this.timer.refresh()
  }

  private release(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.waiting = []
    this.written = 0
    this.budget.remove(this)
    this.budget.free(this.counted)
    this.counted = 0
  }
}
