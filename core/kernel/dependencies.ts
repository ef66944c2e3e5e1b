import { Health } from '../contract/capabilities/health.js'
import { type Capability, isSingle } from '../contract/capability.js'
import type { Problem } from '../contract/problem.js'
import type { Loader } from './load.js'
import { dependentOn } from './observers.js'
import { entriesOf, isPlannedScope, type PlannedEntry, type PlannedScope } from './plan.js'

/** What the entries of a list lack from each other, and what they are not to share. */
export async function dependencyProblems(plan: PlannedScope, loader: Loader): Promise<readonly Problem[]> {
  const lacking = missing(plan, [Health, ...sharedIn(plan)]).map(async ({ place, capability }) => {
    const providers = await loader.providersOf(capability)
    const known = providers.length === 0 ? '' : `; plugins that do: ${providers.join(', ')}`
    const what = article(capability.name)
    return { place, message: `it needs ${what}, and nothing in the list provides one${known}` }
  })
  return [...(await Promise.all(lacking)), ...repeated(plan), ...observed(plan, entriesOf(plan))]
}

interface Missing {
  readonly place: string
  readonly capability: Capability
}

/** What is required and provided neither in the scope nor outside it. */
function missing(scope: PlannedScope, outside: readonly Capability[]): readonly Missing[] {
  const entries = scope.items.filter((item): item is PlannedEntry => !isPlannedScope(item))
  const provided = [...outside, ...entries.flatMap(({ provides }) => provides)]
  const inReach = new Set(provided.map(({ token }) => token))
  return scope.items.flatMap((item) => {
    if (isPlannedScope(item)) return missing(item, provided)
    const lacking = item.plugin.requires?.filter(({ token }) => !inReach.has(token)) ?? []
    return lacking.map((capability) => ({ place: placeOf(scope, item), capability }))
  })
}

/** What is provided twice in a scope, of which there can be one. */
function repeated(scope: PlannedScope): readonly Problem[] {
  const providers = new Map<symbol, string>()
  return scope.items.flatMap((item) => {
    if (isPlannedScope(item)) return repeated(item)
    return item.provides.filter(isSingle).flatMap(({ name, token }) => {
      const other = providers.get(token)
      providers.set(token, item.id)
      if (other === undefined) return []
      const message = `it provides ${article(name)}, and so does "${other}": there can be one`
      return [{ place: placeOf(scope, item), message }]
    })
  })
}

/** What may be left out, and another entry depends on. */
function observed(scope: PlannedScope, all: readonly PlannedEntry[]): readonly Problem[] {
  return scope.items.flatMap((item) => {
    if (isPlannedScope(item)) return observed(item, all)
    const other = item.required ? undefined : dependentOn(item, all)
    if (other === undefined) return []
    const message = `it may not be left out: "${other.id}" depends on what it provides`
    return [{ place: placeOf(scope, item), message }]
  })
}

function placeOf({ path }: PlannedScope, entry: PlannedEntry): string {
  return entry.placeOf?.('') ?? `plugin "${entry.id}"${path === '' ? '' : ` in ${path}`}`
}

const article = (name: string): string => `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`

/** What a scope anywhere in the list provides for the whole process. */
const sharedIn = ({ items }: PlannedScope): Capability[] =>
  items.flatMap((item) =>
    isPlannedScope(item)
      ? sharedIn(item)
      : item.provides.filter((capability) => capability.kind === 'many' && capability.shared),
  )
