import { readFileSync, writeFileSync } from 'node:fs'
import { chartOf } from './chart.js'
import { endAll } from './contestant.js'
import { mergedResults } from './merged-results.js'
import { HELP, type Options, readOptions } from './options.js'
import { committed } from './paths.js'
import type { Results } from './results.js'
import { rows } from './rows/rows.js'
import { measured } from './run.js'
import { asText } from './table.js'
import { runCommand, UsageError } from './usage-error.js'

const print = (text: string): void => void process.stdout.write(`${text}\n`)
process.once('exit', endAll)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

await runCommand(async () => {
  const options = readOptions(process.argv.slice(2))
  if (options.help) print(HELP)
  else if (options.list) print(rows.map(({ key }) => key).join('\n'))
  else await report(options)
})

async function report(options: Options): Promise<void> {
  const results = options.from === undefined ? await measured(options) : read(options.from, '--from')
  print(options.json ? JSON.stringify(results, null, 2) : asText(results))
  if (options.chart !== undefined) writeFileSync(options.chart, chartOf(results))
  if (!options.write) return
  const isPart = options.from === undefined && options.only.length > 0
  await write(isPart ? mergedResults(read(committed.results, '--write'), results) : results)
}

function read(file: string, flag: string): Results {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`${flag}: ${error instanceof Error ? error.message : error}`)
  }
}

/** Writes the files from which the pages are made, and the pages. */
async function write(results: Results): Promise<void> {
  writeFileSync(committed.results, `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(committed.chart, chartOf(results))
  const { renewAll } = await import('../docs/pages.js')
  await renewAll()
}
