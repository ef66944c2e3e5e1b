import type { PlannedScope } from 'sallyport'
import { isPlannedScope } from 'sallyport'
import { planOf } from '../config/all-problems.js'
import { readList } from '../config/listed-settings.js'
import { checkGroups } from '../options/check.js'
import type { Invocation } from '../options/option.js'
import { valuesOf } from '../options/values.js'
import { exitCode, tell } from '../terminal.js'

/** Says whether a file would start, without starting it: every plugin is loaded, none is set up. */
export async function check({ given }: Invocation): Promise<number> {
  const { config } = valuesOf(checkGroups, given)
  const checked = await planOf(await readList(config))
  if ('problems' in checked) return tell(checked.problems)
  process.stdout.write(`${config}: nothing is wrong with it, plugins: ${countOf(checked.plan)}\n`)
  return exitCode.asked
}

const countOf = ({ items }: PlannedScope): number =>
  items.reduce((count, item) => count + (isPlannedScope(item) ? countOf(item) : 1), 0)
