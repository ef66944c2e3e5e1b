import { Refusal } from 'sallyport'
import { digestOf, duration, ExpiringMap } from 'sallyport/toolkit'
import { z } from 'zod'

const EXPECTED = 'expected a rate such as 600/1m: a number of requests from 1, and a span of at most 24h'

const span = duration(24 * 3_600_000)

/** An option such as `600/1m`. */
export const publishRate = z.string().transform((written, context) => {
  const [, count = '', text = ''] = /^([1-9]\d{0,8})\/(.+)$/.exec(written) ?? []
  const { data: milliseconds = 0 } = span.safeParse(text)
  if (milliseconds > 0) return { count: Number(count), milliseconds }
  context.issues.push({ code: 'custom', input: written, message: EXPECTED })
  return z.NEVER
})

const MOST_CALLERS = 10_000

/**
 * Limits how often each caller may do something: a burst of so many at once, and as many in each span after that. It
 * bounds the number of callers, which the library's limiters do not: the caller that was idle longest is evicted.
 */
export class PublishRate {
  /** For each caller, the time of the monotonic clock at which its earlier writes count no more. */
  private readonly paidAt = new ExpiringMap<number>(MOST_CALLERS)
  private readonly each: number

  constructor(
    private readonly rate: z.output<typeof publishRate>,
    private readonly code: string,
    private readonly message: string,
  ) {
    this.each = rate.milliseconds / rate.count
  }

  take(caller: string): void {
    const over = this.paidFor(caller) + this.each - performance.now() - this.rate.milliseconds
    // Sums of floating-point fractions are not exact.
    if (over < 1) {
      this.charge(caller, 1)
      return
    }
    const retryAfter = Math.max(1, Math.ceil(over / 1000))
    throw new Refusal(429, this.code, this.message, { retryAfter })
  }

  /** Counts finished writes, also beyond the limit: the caller then waits so much longer. */
  charge(caller: string, count: number): void {
    const paidAt = this.paidFor(caller) + count * this.each
    this.paidAt.set(digestOf(caller), paidAt, Date.now() + paidAt - performance.now())
  }

  private paidFor(caller: string): number {
    const now = performance.now()
    return Math.max(this.paidAt.get(digestOf(caller)) ?? now, now)
  }
}
