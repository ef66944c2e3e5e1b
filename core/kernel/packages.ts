import { ConfigError } from '../contract/errors.js'
import type { Problem } from '../contract/problem.js'
import { stepFailure } from './lifecycle.js'
import { entriesOf, type PlannedEntry, type PlannedScope } from './plan.js'

/** Imports the optional packages that a list needs, and reports the missing ones as a start would. */
export const missingPackagesOf = async (plan: PlannedScope): Promise<readonly Problem[]> =>
  (await Promise.all(entriesOf(plan).map(missingIn))).flat()

async function missingIn(entry: PlannedEntry): Promise<readonly Problem[]> {
  const { id, plugin, options, placeOf } = entry
  try {
    // The options are the result of the plugin's own schema, so they have the type that `importPackages` expects.
    await plugin.importPackages?.(options as never)
    return []
  } catch (error) {
    const failure = stepFailure(entry, 'importPackages', error)
    if (failure instanceof ConfigError) return failure.problems
    return [{ place: placeOf?.('') ?? `plugin "${id}"`, message: failure.message }]
  }
}
