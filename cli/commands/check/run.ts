import { entriesOf, missingPackagesOf, warningsOf } from 'sallyport/embed'
import { planOf } from '../../config/all-problems.js'
import { readList } from '../../config/read-list.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems, printWarnings } from '../../terminal.js'
import { tryPlugins } from '../../tools/trial/trial.js'
import { checkCommand } from './flags.js'

/** Checks a file without starting it: loads every plugin, and tries setup of plugins that are not built in. */
export async function check({ options, environment }: Invocation, io: Io): Promise<number> {
  const { config } = valuesOf(checkCommand.groups, options)
  const read = await readList(config, environment)
  const planned = await planOf(read)
  if ('problems' in read || 'problems' in planned)
    return printProblems('problems' in planned ? planned.problems : [], io)
  const { plan } = planned
  const [missing, trial] = await Promise.all([
    missingPackagesOf(plan),
    tryPlugins(read, plan, { file: config, environment: io.env }),
  ])
  const problems = [...missing, ...trial.problems]
  if (problems.length > 0) return printProblems(problems, io)
  printWarnings([...warningsOf(plan), ...trial.warnings], io)
  const count = entriesOf(plan).length
  io.stdout.write(`${config}: nothing is wrong with it, plugins: ${count}\n`)
  io.stdout.write(
    `not checked: files that it names, server documents, addresses and servers; \`sallyport doctor --config ${config}\` checks them\n`,
  )
  return exitCode.ok
}
