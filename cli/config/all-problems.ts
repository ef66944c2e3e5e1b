import type { List } from 'sallyport'
import { ConfigError, type Problem } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import type { BootContext, PlannedScope } from 'sallyport/embed'
import { createLog, entryProblems, planList } from 'sallyport/embed'
import type { Located, Result } from './result.js'

/** What planning a list needs; nothing is logged. */
export const silentContext = ({ folder, locate }: Located<unknown>): BootContext => ({
  catalogue,
  folder,
  locate,
  log: createLog({ level: 'silent' }),
})

/** The problems of the file's form, and those that the kernel finds in the entries that can be read, in the order of the file. */
export async function allProblems({
  problems,
  entries,
}: Extract<Result<unknown>, { problems: unknown }>): Promise<readonly Problem[]> {
  const further = entries === undefined ? [] : await entryProblems(entries.settings, silentContext(entries))
  const placeOf = ({ place }: Problem): string => place.replace(/ \(.*\)$/, '')
  const reported = new Set(problems.map(placeOf))
  return [...problems, ...further.filter((problem) => !reported.has(placeOf(problem)))].toSorted(byPosition)
}

type Planned =
  | { readonly plan: PlannedScope; readonly folder: string }
  | { readonly problems: readonly Problem[] }

/** Loads and checks a list as for a boot; the plan, or everything that is wrong. */
export async function planOf(result: Result<List>): Promise<Planned> {
  if ('problems' in result) return { problems: await allProblems(result) }
  try {
    return { plan: await planList(result.settings, silentContext(result)), folder: result.folder }
  } catch (error) {
    if (error instanceof ConfigError) return { problems: error.problems.toSorted(byPosition) }
    throw error
  }
}

function byPosition(a: Problem, b: Problem): number {
  const [left, right] = [a, b].map(({ place }) => /:(\d+):(\d+)/.exec(place)?.slice(1).map(Number) ?? [0, 0])
  return (left?.[0] ?? 0) - (right?.[0] ?? 0) || (left?.[1] ?? 0) - (right?.[1] ?? 0)
}
