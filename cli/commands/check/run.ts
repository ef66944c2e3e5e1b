import { entriesOf, warningsOf } from 'sallyport/embed'
import { planOf } from '../../config/all-problems.js'
import { readList } from '../../config/read-list.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems, printWarnings } from '../../terminal.js'
import { checkCommand } from './flags.js'

/** Checks a file without starting it: every plugin is loaded, none is set up. */
export async function check({ options, environment }: Invocation, io: Io): Promise<number> {
  const { config } = valuesOf(checkCommand.groups, options)
  const result = await planOf(await readList(config, environment))
  if ('problems' in result) return printProblems(result.problems, io)
  printWarnings(warningsOf(result.plan), io)
  const count = entriesOf(result.plan).length
  io.stdout.write(`${config}: nothing is wrong with it, plugins: ${count}\n`)
  io.stdout.write(
    `not looked at: files that it names, server documents, addresses and servers; \`sallyport doctor --config ${config}\` looks at them\n`,
  )
  return exitCode.ok
}
