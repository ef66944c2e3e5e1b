import { parseArgs } from 'node:util'

export const HELP = `npm run bench -- [OPTIONS]

Measures the built package against Node itself, and against HAProxy, nginx and Apache where they are installed.

  --quick        fewer rows and shorter measurements: under two minutes
  --only WORD    only rows whose key holds the word; may be repeated
  --list         print the keys of the rows
  --json         print the results as JSON
  --chart FILE   draw the chart of this run as SVG
  --from FILE    measure nothing: take the results of an earlier run with --json
  --write        write the results, the chart, and the tables of the pages that show them; with --only, of these rows
`

export type Options = ReturnType<typeof readOptions>

export function readOptions(argv: readonly string[]) {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      list: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      chart: { type: 'string' },
      from: { type: 'string' },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  return values
}
