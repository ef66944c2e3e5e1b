import { Errand, isPlannedScope, type PlannedEntry, type PlannedScope, type Problem } from 'sallyport'

/** What of a list cannot be in several processes at once. */
export function notInSeveral(plan: PlannedScope, place: string): readonly Problem[] {
  return entriesOf(plan).flatMap(({ id, plugin }) => {
    const reason =
      plugin.oneProcess ?? (provides(plugin, Errand.token) ? 'what it does is done once' : undefined)
    if (reason === undefined) return []
    return [{ place, message: `1 is expected, since "${id}" cannot be in several processes: ${reason}` }]
  })
}

const entriesOf = ({ items }: PlannedScope): PlannedEntry[] =>
  items.flatMap((item) => (isPlannedScope(item) ? entriesOf(item) : [item]))

const provides = (plugin: PlannedEntry['plugin'], token: symbol): boolean =>
  (plugin.provides ?? []).some((capability) => capability.token === token)
