import type { List } from 'sallyport'
import { ConfigError, type Problem } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import type { BootContext, PlannedScope } from 'sallyport/embed'
import { createLog, planList } from 'sallyport/embed'
import { withoutStandIn } from '#core/kernel/find-faults.js'
import type { Located, Result } from './result.js'

/** What planning a list needs; nothing is logged. */
export const silentContext = ({ folder, locate }: Located<unknown>): BootContext => ({
  catalogue,
  folder,
  locate,
  log: createLog({ level: 'silent' }),
})

/** The problems of the file's form, and those that the kernel finds in what can be read of it, in the order of the file. */
export async function allProblems({
  problems,
  readable,
}: Extract<Result<List>, { problems: unknown }>): Promise<readonly Problem[]> {
  if (readable === undefined) return problems.toSorted(byPosition)
  const found = await planLocated(readable)
  const further = 'problems' in found ? found.problems.map(unlabelled) : []
  const placeOf = ({ place }: Problem): string => place.replace(/ \(.*\)$/, '')
  const reported = new Set(problems.map(placeOf))
  return [...problems, ...further.filter((problem) => !reported.has(placeOf(problem)))].toSorted(byPosition)
}

const unlabelled = ({ place, ...problem }: Problem): Problem => ({ ...problem, place: withoutStandIn(place) })

type Planned =
  | { readonly plan: PlannedScope; readonly folder: string }
  | { readonly problems: readonly Problem[] }

/** Loads and checks a list as for a boot; the plan, or everything that is wrong. */
export async function planOf(result: Result<List>): Promise<Planned> {
  return 'problems' in result ? { problems: await allProblems(result) } : planLocated(result)
}

async function planLocated(located: Located<List>): Promise<Planned> {
  try {
    return { plan: await planList(located.settings, silentContext(located)), folder: located.folder }
  } catch (error) {
    if (error instanceof ConfigError) return { problems: error.problems.toSorted(byPosition) }
    throw error
  }
}

function byPosition(a: Problem, b: Problem): number {
  const [left, right] = [a, b].map(({ place }) => /:(\d+):(\d+)/.exec(place)?.slice(1).map(Number) ?? [0, 0])
  return (left?.[0] ?? 0) - (right?.[0] ?? 0) || (left?.[1] ?? 0) - (right?.[1] ?? 0)
}
