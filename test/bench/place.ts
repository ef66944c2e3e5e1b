import { join } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** What a run with `--write` leaves for the pages that show it. */
export const committed = {
  results: join(import.meta.dirname, 'results.json'),
  chart: join(import.meta.dirname, 'chart.svg'),
}
