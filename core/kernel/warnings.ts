import type { Problem } from '../contract/problem.js'
import { entriesOf, type PlannedEntry, type PlannedScope } from './plan.js'

/** The warnings of a list's plugins about options that are valid, but probably a mistake. */
export const warningsOf = (plan: PlannedScope): readonly Problem[] => entriesOf(plan).flatMap(warningsIn)

function warningsIn(entry: PlannedEntry): readonly Problem[] {
  const { plugin, options } = entry
  try {
    // The options are the result of the plugin's own schema, so they have the type that `warnings` expects.
    const warnings = plugin.warnings?.(options as never) ?? []
    return warnings.map((warning) => ({ ...warning, place: placed(entry, warning.place) }))
  } catch {
    // The plugin's error may quote a value. Only `sallyport plugin verify` shows it, to the author.
    return [{ place: placed(entry, ''), message: 'the plugin failed in `warnings`' }]
  }
}

function placed({ id, placeOf }: PlannedEntry, option: string): string {
  const written = placeOf?.(option)
  if (written !== undefined) return written
  return option === '' ? `plugin "${id}"` : `plugin "${id}": ${option}`
}
