import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { committed, root } from './paths.js'
import type { CallResult, Results } from './results.js'
import { median } from './statistics.js'
import { aligned, figureTable, reachTable } from './table.js'

const NO_RUN = 'No run is saved here yet: `npm run bench` makes one on your machine.'

const savedResults = (): Results | undefined =>
  existsSync(committed.results) ? JSON.parse(readFileSync(committed.results, 'utf8')) : undefined

/** The most telling rows of a proxy: no check, a known token, a new token. */
const SHORT = ['open', 'rs256', 'rs256-new']

/** The saved run, as one table of a few rows. */
export function speed(): string {
  const results = savedResults()
  if (results === undefined) return NO_RUN
  const calls = results.calls.filter(({ row }) => SHORT.includes(row))
  return `Microseconds of processor time for a call, medians:\n\n${processorTime(calls)}`
}

/** The whole saved run. */
export function benchmark(page: string): string {
  const results = savedResults()
  if (results === undefined) return NO_RUN
  const { command, renewed = [], node, cores, cpu, pinned } = results
  const later = renewed.map((each) => `, and \`${each}\` later`).join('')
  const where = `\`${command}\`${later} on Node ${node.replace('v', '')}, ${cores} cores of ${cpu}`
  const parts = [
    `<img src="${relative(join(root, dirname(page)), committed.chart)}" width="760" alt="Bars of the processor time of a call, for Sallyport, the runtime and other proxies; the table below has the numbers">`,
    `Made by ${where}${pinned ? '; the measured server has one core for itself' : ''}. Microseconds of processor time for a call, medians:`,
    ...tablesOf(results.calls),
    'The goals of Sallyport (at half load, the first half second does not count):',
    ...reachTable(results.reach),
    `<details><summary>Streams, bodies, starts and the stdio bridge</summary>\n\n${figureTable(results.figures).join('\n\n')}\n\n</details>`,
  ]
  return parts.join('\n\n')
}

/** One table for proxies and one for the registry, since they have different contestants. */
function tablesOf(calls: readonly CallResult[]): string[] {
  const [registry, proxies] = [true, false].map((wanted) =>
    calls.filter(({ row }) => row.startsWith('registry') === wanted),
  )
  return [proxies ?? [], registry ?? []].filter((some) => some.length > 0).map(processorTime)
}

function processorTime(calls: readonly CallResult[]): string {
  const names = [...new Set(calls.map(({ name }) => name))]
  const rows = [...new Set(calls.map(({ row }) => row))]
  const lines = rows.map((row) => {
    const some = calls.filter((one) => one.row === row)
    const cells = names.map((name) => {
      const found = some.find((one) => one.name === name)
      return found === undefined ? '' : median(found.cpu).toFixed(0)
    })
    return [`${some[0]?.title} (\`${row}\`)`, ...cells]
  })
  return aligned([['', ...names], ...lines])
}
