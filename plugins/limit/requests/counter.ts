import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import type { Limit } from './options.js'

/** What a span counts with: how many, in how many seconds, under which name. */
export interface SpanOptions {
  readonly points: number
  readonly duration: number
  readonly keyPrefix: string
}

export type Span = Pick<RateLimiterAbstract, 'points' | 'consume' | 'reward'>

/** Milliseconds until a request could go on, and the spans in which it was counted. */
interface Taken {
  readonly wait: number
  readonly spans: readonly Span[]
}

const BURST_SPANS = 10

/** Counts one limit: in its span, and what is more in the longer span of the burst. */
export class Counter {
  private readonly spans: readonly Span[]

  constructor({ by, rate: { count, seconds }, burst }: Limit, open: (options: SpanOptions) => Span) {
    const keyPrefix = `${by}:${seconds}`
    this.spans = [
      open({ points: count, duration: seconds, keyPrefix }),
      ...(burst === undefined
        ? []
        : [open({ points: burst, duration: seconds * BURST_SPANS, keyPrefix: `${keyPrefix}:burst` })]),
    ]
  }

  async take(key: string, cost: number): Promise<Taken> {
    let wait = Number.POSITIVE_INFINITY
    const spans: Span[] = []
    for (const span of this.spans) {
      // More than the span ever has is not worth waiting for.
      if (cost > span.points) continue
      spans.push(span)
      try {
        await span.consume(key, cost)
        return { wait: 0, spans }
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused
        wait = Math.min(wait, Math.max(1, refused.msBeforeNext))
      }
    }
    return { wait, spans }
  }
}

/**
 * Counts a request by each limit under the name there is for it, and by those without one not at all: 0, or the
 * milliseconds after which none of them refuses it. Then it counts for none.
 */
export async function takeAll(
  counters: readonly Counter[],
  names: readonly (string | undefined)[],
  cost: number,
): Promise<number> {
  const [only, ...others] = counters
  const [name] = names
  // The usual case, at half the price.
  if (only !== undefined && others.length === 0 && name !== undefined)
    return (await only.take(name, cost)).wait

  const all = await Promise.all(
    counters.map(async (counter, index) => {
      const name = names[index]
      return name === undefined ? undefined : { name, ...(await counter.take(name, cost)) }
    }),
  )
  const taken = all.filter((each) => each !== undefined)
  const wait = Math.max(0, ...taken.map((each) => each.wait))
  // For a single one there is no use: what is over a limit changes nothing until its span ends.
  if (wait > 0 && taken.length > 1)
    await Promise.all(taken.flatMap(({ name, spans }) => spans.map((span) => span.reward(name, cost))))
  return wait
}
