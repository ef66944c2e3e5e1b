import { Health } from '../contract/capabilities/health.js'
import { type Capability, isSingle } from '../contract/capability.js'
import type { Problem } from '../contract/problem.js'
import type { Loader } from './load.js'
import { dependentOn } from './observers.js'
import { entriesOf, isPlannedScope, type PlannedEntry, type PlannedScope } from './plan.js'

/**
 * Problems between entries: missing capabilities, capabilities provided twice, and `required: false` of needed entries.
 */
export async function dependencyProblems(plan: PlannedScope, loader: Loader): Promise<readonly Problem[]> {
  const lacking = missing(plan, [Health, ...sharedIn(plan)]).map(async ({ place, capability }) => {
    const providers = await loader.providersOf(capability)
    const known = providers.length === 0 ? '' : `; plugins that do: ${providers.join(', ')}`
    const what = article(capability.name)
    return { place, message: `it needs ${what}, and nothing in the list provides one${known}` }
  })
  return [...(await Promise.all(lacking)), ...repeated(plan), ...wronglyOptional(plan, entriesOf(plan))]
}

interface Missing {
  readonly place: string
  readonly capability: Capability
}

/** The capabilities that entries require, and that neither their scope nor an outer one provides. */
function missing(scope: PlannedScope, outside: readonly Capability[]): readonly Missing[] {
  const entries = scope.items.filter((item): item is PlannedEntry => !isPlannedScope(item))
  const provided = [...outside, ...entries.flatMap(({ provides }) => provides)]
  const available = new Set(provided.map(({ token }) => token))
  return scope.items.flatMap((item) => {
    if (isPlannedScope(item)) return missing(item, provided)
    const lacking = item.plugin.requires?.filter(({ token }) => !available.has(token)) ?? []
    return lacking.map((capability) => ({ place: placeOf(scope, item), capability }))
  })
}

/** The entries that provide a capability which their scope has already, though it may have one provider only. */
function repeated(scope: PlannedScope): readonly Problem[] {
  const providers = new Map<symbol, string>()
  return scope.items.flatMap((item) => {
    if (isPlannedScope(item)) return repeated(item)
    return item.provides.filter(isSingle).flatMap(({ name, token }) => {
      const other = providers.get(token)
      providers.set(token, item.id)
      if (other === undefined) return []
      const message = `it provides ${article(name)}, and so does "${other}": a scope can have only one`
      return [{ place: placeOf(scope, item), message }]
    })
  })
}

/** The entries that may be left out, although another entry depends on them. */
function wronglyOptional(scope: PlannedScope, all: readonly PlannedEntry[]): readonly Problem[] {
  return scope.items.flatMap((item) => {
    if (isPlannedScope(item)) return wronglyOptional(item, all)
    const other = item.required ? undefined : dependentOn(item, all)
    if (other === undefined) return []
    const message = `it must not have \`required: false\`: "${other.id}" depends on it`
    return [{ place: placeOf(scope, item), message }]
  })
}

function placeOf({ path }: PlannedScope, entry: PlannedEntry): string {
  return entry.placeOf?.('') ?? `plugin "${entry.id}"${path === '' ? '' : ` in ${path}`}`
}

const article = (name: string): string => `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`

/** The capabilities that any scope of the list provides for the whole process. */
const sharedIn = ({ items }: PlannedScope): Capability[] =>
  items.flatMap((item) =>
    isPlannedScope(item)
      ? sharedIn(item)
      : item.provides.filter((capability) => capability.kind === 'many' && capability.shared),
  )
