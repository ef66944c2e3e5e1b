import type { PlannedScope } from 'sallyport/embed'
import { isPlannedScope } from 'sallyport/embed'
import { planOf } from '../../config/all-problems.js'
import { readList } from '../../config/read-list.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems } from '../../terminal.js'
import { checkCommand } from './flags.js'

/** Checks a file without starting it: every plugin is loaded, none is set up. */
export async function check({ options }: Invocation): Promise<number> {
  const { config } = valuesOf(checkCommand.groups, options)
  const result = await planOf(await readList(config))
  if ('problems' in result) return printProblems(result.problems)
  process.stdout.write(`${config}: nothing is wrong with it, plugins: ${countOf(result.plan)}\n`)
  process.stdout.write(
    `not looked at: files that it names, server documents, addresses and servers; \`sallyport doctor --config ${config}\` looks at them\n`,
  )
  return exitCode.ok
}

const countOf = ({ items }: PlannedScope): number =>
  items.reduce((count, item) => count + (isPlannedScope(item) ? countOf(item) : 1), 0)
