import { haproxy } from './proxies/haproxy.js'
import { floor } from './proxies/own.js'
import type { CallResult, Figure, GoalResult, Results } from './results.js'
import { median, ratio } from './statistics.js'

/** The results as Markdown. */
export function asText(results: Results): string {
  const { node, cores, cpu, pinned, busy, command } = results
  const where = `\`${command}\`, Node ${node}, ${cores} cores of ${cpu}${pinned ? ', one for the measured server' : ''}, load ${busy.toFixed(1)} before`
  const parts = [
    where,
    ...callTables(results.calls),
    ...figureTable(results.figures),
    ...reachTable(results.reach),
  ]
  return parts.join('\n\n')
}

function callTables(calls: readonly CallResult[]): string[] {
  const rows = [...new Set(calls.map(({ row }) => row))]
  return rows.map((row) => {
    const some = calls.filter((one) => one.row === row)
    const [first] = some
    const head = [
      '',
      'CPU a call',
      'of the floor',
      'of HAProxy',
      'calls/s',
      'p50',
      'p99',
      'p50 at half',
      'p99 at half',
      'memory',
    ]
    return `${first?.title} (\`${row}\`)\n\n${aligned([head, ...some.map((one) => callLine(one, some))])}`
  })
}

function callLine(one: CallResult, row: readonly CallResult[]): string[] {
  const of = (name: string): string => {
    const other = row.find((each) => each.name === name)
    return other === undefined ? '' : ratio(one.cpu, other.cpu).toFixed(2)
  }
  const ms = (value: number | undefined): string => (value === undefined ? '' : `${value.toFixed(2)} ms`)
  return [
    one.name,
    `${median(one.cpu).toFixed(0)} µs`,
    of(row[0]?.name ?? floor.name),
    of(haproxy.name),
    one.perSecond.toFixed(0),
    ms(one.p50),
    ms(one.p99),
    ms(one.atHalf?.p50),
    ms(one.atHalf?.p99),
    `${(one.memory / 1e6).toFixed(0)} MB`,
  ]
}

export function figureTable(figures: readonly Figure[]): string[] {
  if (figures.length === 0) return []
  const lines = figures.map(({ title, name, value, unit }) => [title, name, shown(value, unit)])
  return [aligned([['', '', 'value'], ...lines])]
}

export function reachTable(reach: readonly GoalResult[]): string[] {
  if (reach.length === 0) return []
  const lines = reach.map(({ what, value, target, unit, held }) => [
    what,
    shown(value, unit),
    shown(target, unit),
    held ? 'held' : 'missed',
  ])
  return [aligned([['goal', 'is', 'at most', ''], ...lines])]
}

const shown = (value: number, unit: Figure['unit']): string =>
  unit === 'times' ? `${value.toFixed(2)} times` : `${value.toFixed(unit === 'ms' ? 2 : 1)} ${unit}`

/** A Markdown table with aligned columns: the first to the left, the others to the right. */
export function aligned([head = [], ...lines]: readonly (readonly string[])[]): string {
  const widths = head.map((_, column) =>
    Math.max(3, ...[head, ...lines].map((line) => line[column]?.length ?? 0)),
  )
  const row = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`
  const rule = widths.map(
    (width, column) => '-'.repeat(width - (column === 0 ? 0 : 1)) + (column === 0 ? '' : ':'),
  )
  return [row(head), row(rule), ...lines.map(row)].join('\n')
}
