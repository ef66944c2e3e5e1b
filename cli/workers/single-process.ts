import { BackgroundTask, type Problem } from 'sallyport'
import { entriesOf, type PlannedEntry, type PlannedScope } from 'sallyport/embed'

/** A problem for each plugin of a list that works in one process only. */
export function singleProcessOnly(plan: PlannedScope, place: string): readonly Problem[] {
  const entries = entriesOf(plan)
  const required = new Set(entries.flatMap(({ plugin }) => plugin.requires ?? []).map(({ token }) => token))
  return entries.flatMap(({ id, plugin }) => {
    const reason = reasonOf(plugin, required)
    if (reason === undefined) return []
    return [{ place, message: `1 is expected, since "${id}" cannot run in several processes: ${reason}` }]
  })
}

function reasonOf(
  { provides = [], stdout, oneProcess }: PlannedEntry['plugin'],
  required: ReadonlySet<symbol>,
): string | undefined {
  if (typeof oneProcess === 'string') return oneProcess
  if (oneProcess !== undefined && required.has(oneProcess.requiring.token)) return oneProcess.reason
  if (provides.some(({ token }) => token === BackgroundTask.token)) return 'what it does is done once'
  return stdout === 'protocol' ? 'there is one standard output' : undefined
}
