import type { BootContext, List, PlannedScope } from 'sallyport'
import { ConfigError, createLog, type Problem, planList } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import type { Located, Outcome } from './outcome.js'

/** What planning a list needs, without a word in any log. */
export const silentContext = ({ folder, locate }: Located<unknown>): BootContext => ({
  catalogue,
  folder,
  locate,
  log: createLog({ level: 'silent' }),
})

/** What is wrong with the form, and what the kernel finds in what can be read of it, in the order of the file. */
export async function allProblems({
  problems,
  readable,
}: Extract<Outcome<List>, { problems: unknown }>): Promise<readonly Problem[]> {
  if (readable === undefined) return problems
  const found = await planned(readable)
  const further = 'problems' in found ? found.problems : []
  const placeOf = ({ place }: Problem): string => place.replace(/ \(.*\)$/, '')
  const told = new Set(problems.map(placeOf))
  return [...problems, ...further.filter((problem) => !told.has(placeOf(problem)))].toSorted(byPosition)
}

/** A list that was read, loaded and checked as for a boot, or all that is wrong with it. */
export async function planOf(
  outcome: Outcome<List>,
): Promise<{ readonly plan: PlannedScope } | { readonly problems: readonly Problem[] }> {
  return 'problems' in outcome ? { problems: await allProblems(outcome) } : planned(outcome)
}

async function planned(
  located: Located<List>,
): Promise<{ readonly plan: PlannedScope } | { readonly problems: readonly Problem[] }> {
  try {
    return { plan: await planList(located.settings, silentContext(located)) }
  } catch (error) {
    if (error instanceof ConfigError) return { problems: error.problems.toSorted(byPosition) }
    throw error
  }
}

function byPosition(a: Problem, b: Problem): number {
  const [left, right] = [a, b].map(({ place }) => /:(\d+):(\d+)/.exec(place)?.slice(1).map(Number) ?? [0, 0])
  return (left?.[0] ?? 0) - (right?.[0] ?? 0) || (left?.[1] ?? 0) - (right?.[1] ?? 0)
}
