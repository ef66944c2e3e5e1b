import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** The files that a run with `--write` saves for the pages. */
export const committed = {
  results: join(import.meta.dirname, 'results.json'),
  chart: join(import.meta.dirname, 'chart.svg'),
}
