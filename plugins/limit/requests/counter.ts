import { hash } from 'node:crypto'
import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import type { Charge } from './charges.js'
import { BURST_SPANS, type Limit } from './options.js'

/** The settings of a span: how many requests, in how many seconds, under which name. */
export interface SpanOptions {
  readonly points: number
  readonly duration: number
  readonly keyPrefix: string
}

export type Span = Pick<RateLimiterAbstract, 'points' | 'duration' | 'consume' | 'reward' | 'get'>

/** Milliseconds until a request could go on, and the spans in which it was counted. */
interface Counted {
  readonly wait: number
  readonly spans: readonly Span[]
}

/** Counts one limit: first in its span, and requests beyond that in the longer span of the burst. */
export class Counter {
  private readonly spans: readonly Span[]

  constructor({ by, rate: { count, seconds }, burst, tools }: Limit, open: (options: SpanOptions) => Span) {
    const keyPrefix = `${by}:${seconds}${tools === undefined ? '' : `:${digestOf(JSON.stringify(tools))}`}`
    this.spans = [
      open({ points: count, duration: seconds, keyPrefix }),
      ...(burst === undefined
        ? []
        : [open({ points: burst, duration: seconds * BURST_SPANS, keyPrefix: `${keyPrefix}:burst` })]),
    ]
  }

  async count({ name, cost, before }: Charge): Promise<Counted> {
    let wait = Number.POSITIVE_INFINITY
    const spans: Span[] = []
    for (const span of this.spans) {
      // No wait helps when the cost is more than the whole span. The first span holds what the request counted before.
      if (cost + (span === this.spans[0] ? before : 0) > span.points) continue
      try {
        await span.consume(name, cost)
        spans.push(span)
        return { wait: 0, spans }
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused
        // The library computes the wait by the time of day, which may have been set back. Its counts still end in time.
        wait = Math.min(wait, Math.max(1, refused.msBeforeNext), span.duration * 1000)
        // The rest of the span may be enough for a smaller batch.
        if (cost > 1) await span.reward(name, cost)
        else spans.push(span)
      }
    }
    return { wait, spans }
  }

  /** Takes back the charge of a request that was counted and allowed before. */
  async refund({ name, cost }: Charge): Promise<void> {
    const [first, burst] = this.spans
    const consumed = (await first?.get(name))?.consumedPoints ?? 0
    if (first === undefined || consumed <= 0) return
    await first.reward(name, cost)
    if (burst !== undefined && consumed > first.points) await burst.reward(name, cost)
  }
}

/** The limit that refuses for longest, by its index. */
export interface ExceededLimit {
  readonly wait: number
  readonly index: number
}

/** Counts all charges. When one is over a limit, none of them counts, nor do the charges of the same request before. */
export async function countAll(
  counters: readonly Counter[],
  charges: readonly Charge[],
  before: readonly Charge[],
): Promise<ExceededLimit | undefined> {
  const [only, ...others] = charges
  // The usual case, at half the price. A refund is not needed: a charge over a limit changes nothing until its span
  // ends.
  if (only !== undefined && others.length === 0 && before.length === 0) {
    const { wait } = await counterOf(counters, only).count(only)
    return wait === 0 ? undefined : { wait, index: only.index }
  }

  const counted = await Promise.all(
    charges.map(async (charge) => ({ charge, ...(await counterOf(counters, charge).count(charge)) })),
  )
  const [longest] = counted.toSorted((one, other) => other.wait - one.wait)
  if (longest === undefined || longest.wait === 0) return undefined
  await Promise.all([
    ...counted.flatMap(({ charge: { name, cost }, spans }) => spans.map((span) => span.reward(name, cost))),
    ...before.map((charge) => counterOf(counters, charge).refund(charge)),
  ])
  return { wait: longest.wait, index: longest.charge.index }
}

function counterOf(counters: readonly Counter[], { index }: Charge): Counter {
  const counter = counters[index]
  if (counter === undefined) throw new RangeError(`there is no limit ${index}`)
  return counter
}

const digestOf = (text: string): string => hash('sha256', text, 'base64url').slice(0, 16)
