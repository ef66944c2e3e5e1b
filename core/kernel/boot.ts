import { ConfigError, GatewayError } from '../contract/errors.js'
import type { List } from '../contract/list.js'
import { type Problem, problemLine } from '../contract/problem.js'
import { within } from '../toolkit/deadline.js'
import { pathText } from '../toolkit/path-text.js'
import type { BootContext } from './boot-context.js'
import { dependencyProblems } from './dependencies.js'
import { GatewayInstance } from './instance.js'
import { STEP_LIMITS } from './lifecycle.js'
import { Loader } from './load.js'
import { type PlannedScope, Planner } from './plan.js'
import { warningsOf } from './warnings.js'

/** Loads a list and reports all its problems, without setting up any plugin. */
export async function planList(list: List, context: BootContext): Promise<PlannedScope> {
  const { plan, planner, loader } = await planned(list, context)
  const lacking = planner.isComplete ? await dependencyProblems(plan, loader) : []
  const problems = [...planner.problems, ...lacking]
  if (problems.length > 0) throw new ConfigError(problems)
  return plan
}

/** The problems of each entry by itself, for a part of a list: dependencies between entries are not checked. */
export const entryProblems = async (list: List, context: BootContext): Promise<readonly Problem[]> =>
  (await planned(list, context)).planner.problems

async function planned(list: List, context: BootContext) {
  const { catalogue, folder, locate = pathText } = context
  const loader = new Loader(catalogue, folder)
  const planner = new Planner(loader, locate, context.locate !== undefined)
  const limit = context.limits?.start ?? STEP_LIMITS.start
  const late = (): Error =>
    new GatewayError(
      'PLUGIN_LATE',
      `${locate(planner.loadingAt)}: this plugin was not loaded within ${limit / 1000} s`,
    )
  const plan = await within(limit, planner.plan(list), late, context.signal)
  return { plan, planner, loader }
}

/**
 * Boots a list up to the point where its ports could open. If that fails half way, stops all plugins before it throws.
 */
export async function boot(list: List, context: BootContext): Promise<GatewayInstance> {
  const plan = await planList(list, context)
  for (const warning of warningsOf(plan)) context.log.warn(problemLine(warning))
  const instance = new GatewayInstance(context)
  try {
    await instance.build(plan)
  } catch (error) {
    await instance.stop()
    throw error
  }
  return instance
}
