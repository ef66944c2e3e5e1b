import { entriesOf, warningsOf } from 'sallyport/embed'
import { planOf } from '../../config/all-problems.js'
import { readList } from '../../config/read-list.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems, printWarnings } from '../../terminal.js'
import { checkCommand } from './flags.js'

/** Checks a file without starting it: every plugin is loaded, none is set up. */
export async function check({ options }: Invocation): Promise<number> {
  const { config } = valuesOf(checkCommand.groups, options)
  const result = await planOf(await readList(config))
  if ('problems' in result) return printProblems(result.problems)
  printWarnings(warningsOf(result.plan))
  const count = entriesOf(result.plan).length
  process.stdout.write(`${config}: nothing is wrong with it, plugins: ${count}\n`)
  process.stdout.write(
    `not looked at: files that it names, server documents, addresses and servers; \`sallyport doctor --config ${config}\` looks at them\n`,
  )
  return exitCode.ok
}
