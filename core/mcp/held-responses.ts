import { ByteBudget } from '../toolkit/byte-budget.js'
import type { ResponseHead, ResponseSink, ResponseSource } from './response.js'
import { largeResponse, noRoomForResponse, slowResponse, unreadResponse } from './response.js'

/** A response that its caller has not read yet. */
export interface Unread {
  /** When the caller last read a part of it, by `performance.now()`. */
  readonly readAt: number
  /** Ends the response, and frees its bytes. */
  cutOff(): void
}

/** Milliseconds: a caller that reads at all reads more often. */
const STALLED_AFTER = 100

/**
 * Limits the bytes of all held responses. When it is full, it first ends those whose callers have not read for longest.
 */
export class ResponseBudget {
  private readonly bytes: ByteBudget
  /** In the order of their last read. */
  private readonly unread = new Set<Unread>()

  constructor(limit: number) {
    this.bytes = new ByteBudget(limit)
  }

  /** Returns `false` when there is no room. */
  reserve(bytes: number): boolean {
    if (this.bytes.reserve(bytes)) return true
    const latest = performance.now() - STALLED_AFTER
    for (const response of this.unread) {
      if (response.readAt > latest) break
      response.cutOff()
      if (this.bytes.reserve(bytes)) return true
    }
    return false
  }

  free(bytes: number): void {
    this.bytes.free(bytes)
  }

  wasRead(response: Unread): void {
    this.unread.delete(response)
    this.unread.add(response)
  }

  remove(response: Unread): void {
    this.unread.delete(response)
  }
}

/** The largest body, or event, that is held. */
export const MAX_HELD = 16 * 1024 * 1024

/** The held bytes of one response: they count in the budget of all, and the target must complete them in time. */
export class ResponseBuffer {
  size = 0
  private chunks: Buffer[] = []
  private counted = 0
  private timer: NodeJS.Timeout | undefined

  constructor(
    private readonly budget: ResponseBudget,
    private readonly timeout: number,
    private readonly fail: (error: unknown) => void,
  ) {}

  add(chunk: Buffer): void {
    this.size += chunk.length
    if (this.size > MAX_HELD) throw largeResponse()
    this.chunks.push(chunk)
  }

  /** Removes all bytes, in one piece; they still count until `count` is called. */
  take(): Buffer {
    const { chunks } = this
    this.size = 0
    this.chunks = []
    this.stopTimer()
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
  }

  /** Sets how many bytes count in the budget. */
  count(bytes: number): void {
    if (bytes > this.counted && !this.budget.reserve(bytes - this.counted)) throw noRoomForResponse()
    if (bytes < this.counted) this.budget.free(this.counted - bytes)
    this.counted = bytes
  }

  /** Limits the time for the rest to arrive, from the first call on. */
  startTimer(): void {
    if (this.timer !== undefined || this.timeout === 0) return
    this.timer = setTimeout(() => this.fail(slowResponse()), this.timeout)
  }

  stopTimer(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  discard(): void {
    this.stopTimer()
    this.size = 0
    this.chunks = []
    this.count(0)
  }
}

const BYTES_AT_ONCE = 64 * 1024

/** Passes a response on as its caller reads it. Data larger than one write counts in the budget until it is written. */
export class UnreadResponse implements ResponseSink, Unread {
  readAt = 0
  private source: ResponseSource | undefined
  private waiting: Buffer[] = []
  /** How many bytes of the first chunk are written. */
  private written = 0
  private counted = 0
  private trailers: readonly string[] | undefined
  private timer: NodeJS.Timeout | undefined
  private discarded = false

  /** The caller has to read something every `timeout` milliseconds. */
  constructor(
    private readonly to: ResponseSink,
    private readonly budget: ResponseBudget,
    private readonly timeout: number,
    private readonly fail: (error: unknown) => void,
  ) {}

  begin(head: ResponseHead, source: ResponseSource): void {
    this.source = source
    this.to.begin(head, { resume: () => this.goOn(), abort: () => source.abort() })
  }

  data(chunk: Buffer): boolean {
    if (this.counted === 0 && chunk.length <= BYTES_AT_ONCE) return this.to.data(chunk)
    if (!this.budget.reserve(chunk.length)) throw noRoomForResponse()
    // To make room, the budget may have cut off this response itself.
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

  /** Returns `true` when everything is written. */
  private write(): boolean {
    for (let chunk = this.waiting[0]; chunk !== undefined; chunk = this.waiting[0]) {
      const part = chunk.subarray(this.written, this.written + BYTES_AT_ONCE)
      this.written += part.length
      const isLast = this.written === chunk.length
      if (isLast) {
        this.waiting.shift()
        this.written = 0
      }
      // A copy: a slice would keep the whole chunk in memory until it is sent.
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
    if (this.trailers === undefined) this.source?.resume()
    else this.endOnce(this.trailers)
  }

  /** The writer may call `resume` after the end too. */
  private endOnce(trailers: readonly string[]): void {
    this.trailers = undefined
    this.source = undefined
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
