type Values = Readonly<Record<string, string>>

interface PendingCount {
  readonly values: Values
  pending: number
}

type LabelTree = Map<string | undefined, unknown>

/**
 * Counts since the last scrape, by the values of their labels. Requests make most of them, and prom-client would look
 * up the series each time, which costs more than one addition at the scrape.
 */
export class PendingCounts {
  private readonly counts: PendingCount[] = []
  private readonly byValues: LabelTree = new Map()

  constructor(private readonly names: readonly string[]) {}

  /** Undefined for values that were not added, and when the labels are not those of the instrument. */
  find(values: Values): PendingCount | undefined {
    if (!this.hasAllLabels(values)) return undefined
    let found: unknown = this.byValues
    for (const name of this.names) {
      if (found === undefined) return undefined
      found = (found as LabelTree).get(values[name])
    }
    return this.names.length === 0 ? this.counts[0] : (found as PendingCount | undefined)
  }

  add(values: Values): void {
    // `find` never returns values without all labels: each call would add them once more.
    if (!this.hasAllLabels(values) || this.find(values) !== undefined) return
    const count: PendingCount = { values: { ...values }, pending: 0 }
    this.counts.push(count)
    let branch = this.byValues
    for (const [index, name] of this.names.entries()) {
      const next = index === this.names.length - 1 ? count : (branch.get(values[name]) ?? new Map())
      branch.set(values[name], next)
      branch = next as LabelTree
    }
  }

  private hasAllLabels(values: Values): boolean {
    let labels = 0
    for (const _ in values) labels++
    return labels === this.names.length
  }

  flush(record: (values: Values, pending: number) => void): void {
    for (const count of this.counts) {
      if (count.pending === 0) continue
      record(count.values, count.pending)
      count.pending = 0
    }
  }
}
