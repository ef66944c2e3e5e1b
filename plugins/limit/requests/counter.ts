import { hash } from 'node:crypto'
import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible'
import type { Charge } from './charges.js'
import { BURST_SPANS, type Limit } from './options.js'

/** What a span counts with: how many, in how many seconds, under which name. */
export interface SpanOptions {
  readonly points: number
  readonly duration: number
  readonly keyPrefix: string
}

export type Span = Pick<RateLimiterAbstract, 'points' | 'duration' | 'consume' | 'reward' | 'get'>

/** Milliseconds until a request could go on, and the spans in which it was counted. */
interface Taken {
  readonly wait: number
  readonly spans: readonly Span[]
}

/** Counts one limit: in its span, and what is more in the longer span of the burst. */
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

  async take({ name, cost, before }: Charge): Promise<Taken> {
    let wait = Number.POSITIVE_INFINITY
    const spans: Span[] = []
    for (const span of this.spans) {
      // More than the span ever has is not worth waiting for. What the request has counted before is in the first one.
      if (cost + (span === this.spans[0] ? before : 0) > span.points) continue
      try {
        await span.consume(name, cost)
        spans.push(span)
        return { wait: 0, spans }
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused
        // The library goes by the time of day, which may have been set back. Its counts end in time.
        wait = Math.min(wait, Math.max(1, refused.msBeforeNext), span.duration * 1000)
        // What is left may do for something smaller.
        if (cost > 1) await span.reward(name, cost)
        else spans.push(span)
      }
    }
    return { wait, spans }
  }

  /** Counts no more what a request has counted that was let in. */
  async giveBack({ name, cost }: Charge): Promise<void> {
    const [first, burst] = this.spans
    const consumed = (await first?.get(name))?.consumedPoints ?? 0
    if (first === undefined || consumed <= 0) return
    await first.reward(name, cost)
    if (burst !== undefined && consumed > first.points) await burst.reward(name, cost)
  }
}

/** The limit that refuses for longest, by its place. */
export interface Over {
  readonly wait: number
  readonly index: number
}

/** Counts what is charged. What is over a limit counts for none, nor does what the same request has counted before. */
export async function takeAll(
  counters: readonly Counter[],
  charges: readonly Charge[],
  before: readonly Charge[],
): Promise<Over | undefined> {
  const [only, ...others] = charges
  // The usual case, at half the price. There is no use in giving back: what is over a limit changes nothing until its
  // span ends.
  if (only !== undefined && others.length === 0 && before.length === 0) {
    const { wait } = await counterOf(counters, only).take(only)
    return wait === 0 ? undefined : { wait, index: only.index }
  }

  const taken = await Promise.all(
    charges.map(async (charge) => ({ charge, ...(await counterOf(counters, charge).take(charge)) })),
  )
  const [longest] = taken.toSorted((one, other) => other.wait - one.wait)
  if (longest === undefined || longest.wait === 0) return undefined
  await Promise.all([
    ...taken.flatMap(({ charge: { name, cost }, spans }) => spans.map((span) => span.reward(name, cost))),
    ...before.map((charge) => counterOf(counters, charge).giveBack(charge)),
  ])
  return { wait: longest.wait, index: longest.charge.index }
}

function counterOf(counters: readonly Counter[], { index }: Charge): Counter {
  const counter = counters[index]
  if (counter === undefined) throw new RangeError(`there is no limit ${index}`)
  return counter
}

const digestOf = (text: string): string => hash('sha256', text, 'base64url').slice(0, 16)
