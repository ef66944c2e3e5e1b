import type { List } from 'sallyport'
import { ConfigError, type Problem } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import type { BootContext, PlannedScope } from 'sallyport/embed'
import { createLog, entryProblems, planList } from 'sallyport/embed'
import type { Located, Result } from './result.js'

/** A context for planning a list without a log. */
export const silentContext = ({ folder, locate }: Located<unknown>): BootContext => ({
  catalogue,
  folder,
  locate,
  log: createLog({ level: 'silent' }),
})

/** The problems of a file's form, and those that the kernel finds in readable entries, in the order of the file. */
export async function allProblems({
  problems,
  entries,
}: Extract<Result<unknown>, { problems: unknown }>): Promise<readonly Problem[]> {
  const fromEntries =
    entries === undefined ? [] : await entryProblems(entries.settings, silentContext(entries))
  const placeOf = ({ place }: Problem): string => place.replace(/ \(.*\)$/, '')
  const reported = new Set(problems.map(placeOf))
  return [...problems, ...fromEntries.filter((problem) => !reported.has(placeOf(problem)))].toSorted(
    byPosition,
  )
}

type Planned =
  | { readonly plan: PlannedScope; readonly folder: string }
  | { readonly problems: readonly Problem[] }

/** Loads and checks a list as a boot does. Returns the plan, or all problems. */
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
