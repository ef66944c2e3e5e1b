import type { BootContext } from './boot-context.js'
import { Booted } from './booted.js'
import { within } from './deadline.js'
import { ConfigError, GatewayError } from './errors.js'
import { STEP_LIMITS } from './lifecycle.js'
import type { List } from './list.js'
import { Loader } from './load.js'
import { type Locate, type PlannedScope, Planner } from './plan.js'

/** Loads a list and finds everything that is wrong with it, without setting anything up. */
export async function planList(list: List, context: BootContext): Promise<PlannedScope> {
  const planner = new Planner(new Loader(context.catalogue, context.folder), context.locate ?? pathText)
  const limit = context.limits?.start ?? STEP_LIMITS.start
  const late = (): Error =>
    new GatewayError('PLUGIN_LATE', `the plugins were not loaded within ${limit / 1000} s`)
  const plan = await within(limit, planner.plan(list), late, context.signal)
  // With an entry missing, complaints about what it would have provided are noise.
  if (planner.problems.length === 0) planner.checkCapabilities(plan)
  if (planner.problems.length > 0) throw new ConfigError(planner.problems)
  return plan
}

export const pathText: Locate = (path) =>
  path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')

/** Boots a list up to the point where its doors could open. What fails half way is torn down before this throws. */
export async function boot(list: List, context: BootContext): Promise<Booted> {
  const plan = await planList(list, context)
  const booted = new Booted(context)
  try {
    await booted.build(plan)
  } catch (error) {
    await booted.stop()
    throw error
  }
  return booted
}
