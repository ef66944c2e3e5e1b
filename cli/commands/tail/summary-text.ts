import type { Paint } from '../../colour.js'
import { durationText, shown, timeText } from './event-text.js'
import type { Row, Rows, Summary } from './summary.js'

const SHOWN = 20
const LISTED = 1_000

/** A summary for people: three tables, each with what is most frequent. */
export function summaryText(summary: Summary, paint: Paint): string {
  const { all, from, to, callers, deeds, reasons } = summary
  if (all.count === 0) return 'no event matches'
  const allowed = all.count - all.denied - all.failed
  const span = `from ${timeText(from)} to ${timeText(to)}`
  return [
    `${all.count} events: ${allowed} allowed, ${all.denied} denied, ${all.failed} failed; ${span}`,
    ...tableOf('caller', callers, paint),
    ...tableOf('what', deeds, paint),
    ...tableOf('why not', reasons, paint),
  ].join('\n')
}

/** The same for programs. */
export function summaryObject({ all, from, to, callers, deeds, reasons }: Summary): object {
  const time = (at: number): string | null => (all.count === 0 ? null : new Date(at).toISOString())
  const list = (rows: Rows, key: string): object => {
    const { rows: top, other } = rows.top(LISTED)
    return [
      ...top.map(([name, row]) => ({ [key]: name, ...figures(row) })),
      ...(other.count > 0 ? [{ other: true, ...figures(other) }] : []),
    ]
  }
  return {
    from: time(from),
    to: time(to),
    ...figures(all),
    callers: list(callers, 'caller'),
    what: list(deeds, 'what'),
    reasons: list(reasons, 'reason'),
  }
}

function figures({ count, denied, failed, durations }: Row) {
  const { max } = durations
  // Rounding must not take one above the longest.
  const [p50Ms, p95Ms] = [0.5, 0.95].map((part) => {
    const time = durations.percentile(part)
    return time === undefined ? undefined : Math.min(Number(time.toPrecision(3)), max)
  })
  return { count, denied, failed, p50Ms, p95Ms, maxMs: p50Ms === undefined ? undefined : max }
}

function tableOf(title: string, rows: Rows, paint: Paint): readonly string[] {
  const { rows: top, other } = rows.top(SHOWN)
  if (top.length === 0) return []
  const all = [...top, ...(other.count > 0 ? ([['other', other]] as const) : [])]
  const cells = all.map(([name, row]) => [shown(name), ...cellsOf(row)])
  const head = [title, 'count', 'denied', 'failed', 'p50', 'p95', 'max']
  const widths = head.map((word, column) =>
    Math.max(word.length, ...cells.map((row) => row[column]?.length ?? 0)),
  )
  const line = ([name = '', ...numbers]: readonly string[]): string =>
    [
      name.padEnd(widths[0] ?? 0),
      ...numbers.map((text, index) => text.padStart(widths[index + 1] ?? 0)),
    ].join('  ')
  return ['', paint('bold', line(head)), ...cells.map(line)]
}

function cellsOf(row: Row): readonly string[] {
  const { count, denied, failed, p50Ms, p95Ms, maxMs } = figures(row)
  const times = [p50Ms, p95Ms, maxMs].map((time) => (time === undefined ? '-' : durationText(time)))
  return [...[count, denied, failed].map(String), ...times]
}
