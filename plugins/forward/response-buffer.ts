import type { ResponseBudget } from './response-budget.js'
import { largeResponse, noRoomForResponse, slowResponse } from './response-failures.js'

/** The most that is held of a response: its body, or one of its events. */
const MAX_HELD = 16 * 1024 * 1024

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
    if (this.timer !== undefined || this.timeout === 0 || this.size === 0) return
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
