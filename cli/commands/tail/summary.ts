import type { AuditEvent } from 'sallyport'
import { callerOf, deedOf, reasonsOf } from './event-text.js'
import { Histogram } from './histogram.js'

/** Different callers, deeds or reasons that are counted each by itself; later ones are counted together. */
const MOST_ROWS = 2_000
/** Characters of a name that tell it from others. */
const LONGEST_NAME = 300

/** What is counted of some events. */
export class Row {
  count = 0
  denied = 0
  failed = 0
  readonly durations = new Histogram()

  add({ outcome, durationMs }: AuditEvent): void {
    this.count++
    if (outcome === 'denied') this.denied++
    if (outcome === 'failed') this.failed++
    if (durationMs !== undefined) this.durations.add(durationMs)
  }

  addAll(other: Row): void {
    this.count += other.count
    this.denied += other.denied
    this.failed += other.failed
    this.durations.addAll(other.durations)
  }
}

/** Rows by name, so many at most. */
export class Rows {
  private readonly rows = new Map<string, Row>()
  private readonly further = new Row()

  add(name: string, event: AuditEvent): void {
    this.rowOf(name.slice(0, LONGEST_NAME)).add(event)
  }

  /** The rows with the highest counts, and all others as one. */
  top(count: number): { readonly rows: readonly (readonly [name: string, row: Row])[]; readonly other: Row } {
    const sorted = [...this.rows].sort(([, a], [, b]) => b.count - a.count)
    const other = new Row()
    other.addAll(this.further)
    for (const [, row] of sorted.slice(count)) other.addAll(row)
    return { rows: sorted.slice(0, count), other }
  }

  private rowOf(name: string): Row {
    const known = this.rows.get(name)
    if (known !== undefined) return known
    if (this.rows.size >= MOST_ROWS) return this.further
    const row = new Row()
    this.rows.set(name, row)
    return row
  }
}

/** Who did what, how often, how slow, and why not. Its size does not grow with the number of events. */
export class Summary {
  readonly all = new Row()
  readonly callers = new Rows()
  readonly deeds = new Rows()
  readonly reasons = new Rows()
  from = Number.POSITIVE_INFINITY
  to = Number.NEGATIVE_INFINITY

  add(event: AuditEvent): void {
    const at = Date.parse(event.at)
    this.from = Math.min(this.from, at)
    this.to = Math.max(this.to, at)
    this.all.add(event)
    this.callers.add(callerOf(event), event)
    this.deeds.add(deedOf(event), event)
    for (const reason of reasonsOf(event)) this.reasons.add(reason, event)
  }
}
