import { ByteBudget } from '../toolkit/byte-budget.js'
import type { ResponseHead, ResponseSink, ResponseSource } from './response.js'
import { largeResponse, noRoomForResponse, slowResponse, unreadResponse } from './response.js'

/** A response that its caller has yet to read. */
export interface Unread {
  /** When something of it was read last, as `performance.now()` tells it. */
  readonly readAt: number
  /** Ends it, and frees its bytes. */
  cutOff(): void
}

/** Milliseconds: callers that read at all do so more often. */
const STALLED_AFTER = 100

/** Limits the bytes of all responses that are held. Where it is full, those end first that nobody has read for longest. */
export class ResponseBudget {
  private readonly bytes: ByteBudget
  /** Those that were read last are last. */
  private readonly unread = new Set<Unread>()

  constructor(limit: number) {
    this.bytes = new ByteBudget(limit)
  }

  /** `false` when there is no room. */
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

/** The most that is held of a response: its body, or one of its events. */
export const MAX_HELD = 16 * 1024 * 1024

/** What is held of one response. It counts among those of all, and for so long only the target may take its time. */
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

  /** Everything, in one piece; it counts on until `count`. */
  take(): Buffer {
    const { chunks } = this
    this.size = 0
    this.chunks = []
    this.stopTimer()
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
  }

  /** Sets how many bytes count. */
  count(bytes: number): void {
    if (bytes > this.counted && !this.budget.reserve(bytes - this.counted)) throw noRoomForResponse()
    if (bytes < this.counted) this.budget.free(this.counted - bytes)
    this.counted = bytes
  }

  /** Limits the time for the rest to come, from the first wait on. */
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

/** Passes a response on as its caller reads it. Whatever is larger than one write counts until it is written. */
export class UnreadResponse implements ResponseSink, Unread {
  readAt = 0
  private source: ResponseSource | undefined
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

  begin(head: ResponseHead, source: ResponseSource): void {
    this.source = source
    this.to.begin(head, { resume: () => this.goOn(), abort: () => source.abort() })
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
    if (this.trailers === undefined) this.source?.resume()
    else this.endOnce(this.trailers)
  }

  /** The writer may ask to go on after the end too. */
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
