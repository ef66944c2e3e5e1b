export interface Counts {
  right: number
  /** Failed as they may: see `Excuse`. */
  excused: number
  failed: number
}

/**
 * What may fail, told before anything does: a call whose target was away while it was under way may be answered with
 * 502, or be cut off after its head; a stream may end with its target, or with the list that a SIGHUP replaced.
 */
export type Excuse = 'target' | 'reload'

/** Milliseconds that an excuse holds on: until dead connections are noticed, and until an old list has drained. */
const HOLDS: Readonly<Record<Excuse, number>> = { target: 1_000, reload: 12_000 }

const MOST_TOLD = 20

/** What became of calls and streams. */
export class Tally {
  readonly failures: string[] = []
  readonly totals: Record<string, Counts> = {}
  private readonly excuses: { readonly why: Excuse; readonly from: number; to: number }[] = []

  right(who: string): void {
    this.of(who).right++
  }

  /** What began then has failed now. */
  failed(who: string, began: number, what: string, excuses: readonly Excuse[] = []): void {
    if (
      this.excuses.some(({ why, from, to }) => excuses.includes(why) && began <= to && Date.now() >= from)
    ) {
      this.of(who).excused++
      return
    }
    this.of(who).failed++
    if (this.failures.length < MOST_TOLD) this.failures.push(`${new Date().toISOString()} ${who}: ${what}`)
  }

  /** From now on there is an excuse, until a while after the answer is called. */
  excuse(why: Excuse): () => void {
    const excuse = { why, from: Date.now(), to: Number.POSITIVE_INFINITY }
    this.excuses.push(excuse)
    return () => {
      excuse.to = Date.now() + HOLDS[why]
    }
  }

  get sum(): Counts {
    const all = Object.values(this.totals)
    const of = (key: keyof Counts): number => all.reduce((sum, one) => sum + one[key], 0)
    return { right: of('right'), excused: of('excused'), failed: of('failed') }
  }

  private of(who: string): Counts {
    this.totals[who] ??= { right: 0, excused: 0, failed: 0 }
    return this.totals[who]
  }
}
