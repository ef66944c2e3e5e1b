export interface Counts {
  right: number
  /** Expected failures: see `Excuse`. */
  excused: number
  failed: number
}

/**
 * Why a failure is expected. While the target is gone, a call may get a 502 or be cut off after its head, and a stream
 * may end. A reload may end streams of the replaced plugin list.
 */
export type Excuse = 'target' | 'reload'

/** Milliseconds that an excuse lasts: until dead connections are noticed, and until an old list has drained. */
const LASTS: Readonly<Record<Excuse, number>> = { target: 1_000, reload: 12_000 }

const MOST_REPORTED = 20

/** Counts the results of calls and streams. */
export class Tally {
  readonly failures: string[] = []
  readonly totals: Record<string, Counts> = {}
  private readonly excuses: { readonly why: Excuse; readonly from: number; to: number }[] = []

  right(who: string): void {
    this.of(who).right++
  }

  /** Counts a failure now of something that began at `began`. */
  failed(who: string, began: number, what: string, excuses: readonly Excuse[] = []): void {
    if (
      this.excuses.some(({ why, from, to }) => excuses.includes(why) && began <= to && Date.now() >= from)
    ) {
      this.of(who).excused++
      return
    }
    this.of(who).failed++
    if (this.failures.length < MOST_REPORTED)
      this.failures.push(`${new Date().toISOString()} ${who}: ${what}`)
  }

  /** Starts an excuse, which ends some time after the returned function is called. */
  excuse(why: Excuse): () => void {
    const excuse = { why, from: Date.now(), to: Number.POSITIVE_INFINITY }
    this.excuses.push(excuse)
    return () => {
      excuse.to = Date.now() + LASTS[why]
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
