type Values = Readonly<Record<string, string>>

interface Sum {
  readonly values: Values
  since: number
}

type Level = Map<string | undefined, unknown>

/**
 * What was counted since the last scrape, by the values of its labels. Most counts are made within a request, where
 * to find the series anew, as prom-client does, costs more than to wait with it.
 */
export class Sums {
  private readonly known: Sum[] = []
  private readonly byValues: Level = new Map()

  constructor(private readonly names: readonly string[]) {}

  /** Nothing before these values are kept, nor for other labels than there are. */
  find(values: Values): Sum | undefined {
    if (!this.fits(values)) return undefined
    let found: unknown = this.byValues
    for (const name of this.names) {
      if (found === undefined) return undefined
      found = (found as Level).get(values[name])
    }
    return this.names.length === 0 ? this.known[0] : (found as Sum | undefined)
  }

  keep(values: Values): void {
    // Labels left out are never found again, and would be kept anew each time.
    if (!this.fits(values) || this.find(values) !== undefined) return
    const sum: Sum = { values: { ...values }, since: 0 }
    this.known.push(sum)
    let level = this.byValues
    for (const [index, name] of this.names.entries()) {
      const next = index === this.names.length - 1 ? sum : (level.get(values[name]) ?? new Map())
      level.set(values[name], next)
      level = next as Level
    }
  }

  private fits(values: Values): boolean {
    let given = 0
    for (const _ in values) given++
    return given === this.names.length
  }

  hand(take: (values: Values, since: number) => void): void {
    for (const sum of this.known) {
      if (sum.since === 0) continue
      take(sum.values, sum.since)
      sum.since = 0
    }
  }
}
