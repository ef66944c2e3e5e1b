import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import type { Span, SpanOptions } from './counter.js'

/** Half a kilobyte for each. */
const MOST_KEYS = 100_000

/** As JSON, or a digest of it, as tools are too. Whoever makes up addresses cannot have a caller forgotten. */
const isCaller = (key: string): boolean => key.startsWith('[') || key.startsWith('#')

/** Counts in memory. Of too many keys the one whose span began first is forgotten, which has the least left of it. */
export class MemorySpan implements Span {
  readonly points: number
  readonly duration: number
  private readonly limiter: RateLimiterMemory
  /** When the span of each key ends, in that order. */
  private readonly callers = new Map<string, number>()
  private readonly addresses = new Map<string, number>()

  constructor(
    options: SpanOptions,
    private readonly most = MOST_KEYS,
  ) {
    this.points = options.points
    this.duration = options.duration
    this.limiter = new RateLimiterMemory({ ...options, keyPrefix: '' })
  }

  // Without waiting for what comes of it: a further promise would double the price of a check.
  consume(key: string, cost: number): Promise<RateLimiterRes> {
    const now = performance.now()
    const ends = isCaller(key) ? this.callers : this.addresses
    if ((ends.get(key) ?? 0) <= now) {
      ends.delete(key)
      ends.set(key, now + this.duration * 1000)
      if (ends.size > this.most) this.forgetOldest(ends)
    }
    return this.limiter.consume(key, cost)
  }

  reward(key: string, cost: number): Promise<RateLimiterRes> {
    return this.limiter.reward(key, cost)
  }

  get(key: string): Promise<RateLimiterRes | null> {
    return this.limiter.get(key)
  }

  /** Ends the timers of all that it counts. */
  close(): void {
    for (const ends of [this.callers, this.addresses]) {
      for (const key of ends.keys()) void this.limiter.delete(key)
      ends.clear()
    }
  }

  // Many at once: a map finds its oldest by stepping over all that were deleted before, which made each new key cost
  // 44 microseconds, and now 4.
  private forgetOldest(ends: Map<string, number>): void {
    const least = this.most - Math.ceil(this.most / 100)
    for (const oldest of ends.keys()) {
      if (ends.size <= least) return
      ends.delete(oldest)
      void this.limiter.delete(oldest)
    }
  }
}
