import type { FilesLeft } from './open-files.js'
import type { Counts } from './tally.js'
import { type Growth, limits } from './watch.js'

export interface Report {
  readonly minutes: number
  readonly node: string
  /** Calls a second. */
  readonly rate: number
  readonly faults: Readonly<Record<string, number>>
  readonly totals: Readonly<Record<string, Counts>>
  readonly failures: readonly string[]
  readonly growth: readonly Growth[]
  readonly files: readonly FilesLeft[]
  readonly held: boolean
}

/** The report as Markdown. */
export function asText({
  minutes,
  node,
  rate,
  faults,
  totals,
  failures,
  growth,
  files,
  held,
}: Report): string {
  const faultCount = Object.values(faults).reduce((sum, count) => sum + count, 0)
  const parts = [
    `${minutes} minutes at ${rate} calls a second, ${faultCount} faults, Node ${node}: ${held ? 'held' : 'NOT held'}`,
    table(['fault', 'times'], Object.entries(faults)),
    table(
      ['what', 'right', 'expected failures', 'failed'],
      Object.entries(totals).map(([who, { right, excused, failed }]) => [who, right, excused, failed]),
    ),
    table(
      ['process', '', 'after the warm-up', 'at the end', 'slope over the run', 'at most', ''],
      growth.map(growthLine),
    ),
    table(
      ['process', 'open files before the first call', 'after the last', ''],
      files.map(({ who, first, last, held }) => [who, first, last, held ? 'held' : 'LEFT OPEN']),
    ),
    ...(failures.length === 0 ? [] : [`The first failures:\n${failures.join('\n')}`]),
  ]
  return parts.join('\n\n')
}

function growthLine({ who, what, first, last, grew, held }: Growth): string[] {
  const { most, unit } = limits[what]
  const shown = (value: number): string => `${value.toFixed(unit === '' ? 0 : 1)} ${unit}`.trim()
  return [who, what, shown(first), shown(last), shown(grew), shown(most), held ? 'held' : 'GREW']
}

const table = (head: readonly string[], lines: readonly (readonly (string | number)[])[]): string =>
  [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
