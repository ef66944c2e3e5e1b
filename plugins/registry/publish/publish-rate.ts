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

interface Span {
  /** By the monotonic clock. */
  readonly until: number
  count: number
}

/**
 * Limits how often each caller may do something. Of too many callers those that were not seen for longest are forgotten,
 * for which the limiters of the library have no bound.
 */
export class PublishRate {
  private readonly spans = new ExpiringMap<Span>(MOST_CALLERS)

  constructor(
    private readonly rate: z.output<typeof publishRate>,
    private readonly code: string,
    private readonly message: string,
  ) {}

  take(caller: string): void {
    const key = digestOf(caller)
    const now = performance.now()
    let span = this.spans.get(key)
    if (span === undefined) {
      span = { until: now + this.rate.milliseconds, count: 0 }
      this.spans.set(key, span, Date.now() + this.rate.milliseconds)
    }
    span.count++
    if (span.count <= this.rate.count) return
    const retryAfter = Math.max(1, Math.ceil((span.until - now) / 1000))
    throw new Refusal(429, this.code, this.message, { retryAfter })
  }
}
