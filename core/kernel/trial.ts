import dgram from 'node:dgram'
import net from 'node:net'
import { ConfigError } from '../contract/errors.js'
import type { List } from '../contract/list.js'
import type { Problem } from '../contract/problem.js'
import { messageOf } from '../toolkit/message-of.js'
import { planList } from './boot.js'
import type { BootContext } from './boot-context.js'
import { GatewayInstance } from './instance.js'
import { isPlannedScope, type PlannedEntry, type PlannedScope } from './plan.js'

/** A finding about the setup of one entry. */
export interface TrialFinding extends Problem {
  /**
   * `contract`: the plugin did not provide a declared capability, or provided an undeclared one. `options`: it refused
   * its options, or a file that they name. `error`: it failed otherwise. `unseen`: it needs the network or has to
   * write, which a trial does not allow.
   */
  readonly kind: 'contract' | 'options' | 'error' | 'unseen'
}

/** Node's flags for the process that calls `trySetup`: plugins can write no file there, and start no process. */
export const TRIAL_FLAGS = ['--permission', '--allow-fs-read=*'] as const

/**
 * Calls `setup` of each plugin of a list that is not built in, each in a gateway of its own. No `onStart` step runs,
 * and no port opens. Call it in a process of its own, with `TRIAL_FLAGS`, that ends afterwards: it disables the network
 * for the whole process. Throws `ConfigError` if the list cannot be planned.
 */
export async function trySetup(list: List, context: BootContext): Promise<readonly TrialFinding[]> {
  const plan = await planList(list, context)
  disableNetwork()
  const findings: TrialFinding[] = []
  for (const trial of trialsOf(plan, (inner) => inner)) findings.push(...(await tryOne(trial, context)))
  return findings
}

interface Trial {
  readonly entry: PlannedEntry
  /** The entry alone, in its scopes. */
  readonly plan: PlannedScope
}

function trialsOf(scope: PlannedScope, outside: (inner: PlannedScope) => PlannedScope): readonly Trial[] {
  const alone = (item: PlannedEntry | PlannedScope): PlannedScope => outside({ ...scope, items: [item] })
  return scope.items.flatMap((item) => {
    if (isPlannedScope(item)) return trialsOf(item, alone)
    return item.isBuiltIn ? [] : [{ entry: item, plan: alone({ ...item, required: true }) }]
  })
}

async function tryOne({ entry, plan }: Trial, context: BootContext): Promise<readonly TrialFinding[]> {
  const instance = new GatewayInstance(context)
  try {
    await instance.setUpAll(plan)
    return []
  } catch (error) {
    return findingsOf(entry, plan, error)
  } finally {
    await instance.stop()
  }
}

function findingsOf(
  { id, placeOf }: PlannedEntry,
  { path }: PlannedScope,
  error: unknown,
): readonly TrialFinding[] {
  const codes = codesOf(error)
  if (error instanceof ConfigError && !codes.has(DENIED))
    return error.problems.map((problem) => ({ kind: 'options', ...problem }))
  const place = placeOf?.('') ?? `plugin "${id}"${path === '' ? '' : ` in ${path}`}`
  const kind = codes.has(DENIED) ? 'unseen' : codes.has('CONTRACT_BROKEN') ? 'contract' : 'error'
  return [{ kind, place, message: messageOf(error) }]
}

/** The codes of an error and of its causes. */
function codesOf(error: unknown): ReadonlySet<unknown> {
  const codes = new Set<unknown>()
  // No real error has more causes; an error may be its own cause.
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++)
    codes.add((at as NodeJS.ErrnoException).code)
  return codes
}

// The code of Node's permission model.
const DENIED = 'ERR_ACCESS_DENIED'

const denied = (): Error => Object.assign(new Error('a trial of setup has no network'), { code: DENIED })

/**
 * Patches Node, in a process that only tries plugins: before Node 25 its permission model does not cover the network.
 */
function disableNetwork(): void {
  const fail = function (this: { destroy(error: Error): unknown }): unknown {
    return this.destroy(denied())
  }
  const refuse = (): never => {
    throw denied()
  }
  Object.assign(net.Socket.prototype, { connect: fail })
  Object.assign(net.Server.prototype, { listen: refuse })
  Object.assign(dgram.Socket.prototype, { bind: refuse, connect: refuse, send: refuse })
}
