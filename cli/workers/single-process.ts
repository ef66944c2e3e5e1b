import { BackgroundTask, type Problem } from 'sallyport'
import { entriesOf, type PlannedEntry, type PlannedScope } from 'sallyport/embed'

/** A problem for each plugin of a list that works in one process only. */
export function singleProcessOnly(plan: PlannedScope, place: string): readonly Problem[] {
  return entriesOf(plan).flatMap(({ id, plugin }) => {
    const reason = plugin.oneProcess ?? reasonOf(plugin)
    if (reason === undefined) return []
    return [{ place, message: `1 is expected, since "${id}" cannot run in several processes: ${reason}` }]
  })
}

function reasonOf({ provides = [], stdout }: PlannedEntry['plugin']): string | undefined {
  if (provides.some(({ token }) => token === BackgroundTask.token)) return 'what it does is done once'
  return stdout === 'protocol' ? 'there is one standard output' : undefined
}
