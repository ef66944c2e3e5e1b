import { hash } from 'node:crypto'
import type { LimitKey, McpMessage } from 'sallyport'
import { type Glob, globOf, matchesGlob, networkOf } from 'sallyport/toolkit'
import { NameQuota } from './name-quota.js'
import { BURST_SPANS, type Limit } from './options.js'

/** How much one request counts for one limit under one name. */
export interface Charge {
  /** The index of the limit in the list. */
  readonly index: number
  readonly name: string
  readonly cost: number
  /** How much the same request has counted before, under the same name. */
  readonly before: number
}

/** Finds the charges of requests and their calls, by the limits of the list. */
export class Charges {
  private readonly tools: readonly ToolLimit[]
  private readonly others: readonly (Limit & { readonly index: number })[]

  constructor(limits: readonly Limit[]) {
    const indexed = limits.map((limit, index) => ({ ...limit, index }))
    this.tools = indexed.filter(isByTool).map(({ by, tools = ['*'], index, rate, burst }) => ({
      index,
      isOfCaller: by === 'caller+tool',
      globs: tools.map((each) => globOf(each)),
      // The operator wrote these names, so they need no quota.
      exact: new Set(tools),
      quota: new NameQuota(rate.seconds * 1000 * (burst === undefined ? 1 : BURST_SPANS), MAX_NEW_NAMES),
    }))
    this.others = indexed.filter((limit) => !isByTool(limit))
  }

  /** Whether a limit counts calls of tools, which only a request body shows. */
  get byTool(): boolean {
    return this.tools.length > 0
  }

  /** The charges of a request itself, for its caller and its address. */
  ofRequest(key: LimitKey, cost: number, before = 0): Charge[] {
    const charges: Charge[] = []
    for (const { by, index } of this.others) {
      const name = nameOf(by === 'caller' ? key.caller : key.address)
      if (name !== undefined) charges.push({ index, name, cost, before })
    }
    return charges
  }

  /** The further charges of the calls in a request body. */
  ofCalls(key: LimitKey, { calls }: McpMessage): Charge[] {
    const charges = calls.length > 1 ? this.ofRequest(key, calls.length - 1, 1) : []
    const called = new Map<string, number>()
    for (const { subjects } of calls) {
      for (const { kind, name } of subjects)
        if (kind === 'tool') called.set(name, (called.get(name) ?? 0) + 1)
    }
    const caller = nameOf(key.caller) ?? ''
    for (const [tool, cost] of called) {
      for (const limit of this.tools) {
        if (limit.globs.some((glob) => matchesGlob(glob, tool)))
          charge(charges, limit.index, countedName(limit, caller, tool), cost)
      }
    }
    return charges
  }
}

/** Several tools may count under one name. */
function charge(charges: Charge[], index: number, name: string, cost: number): void {
  const same = charges.findIndex((each) => each.index === index && each.name === name)
  const before = charges[same]
  if (before === undefined) charges.push({ index, name, cost, before: 0 })
  else charges[same] = { ...before, cost: before.cost + cost }
}

/**
 * As JSON, so that no two tools, nor a tool and a caller, share a name, and none has the name under which tools over
 * the quota count.
 */
function countedName({ isOfCaller, exact, quota }: ToolLimit, caller: string, tool: string): string {
  const name = shortened(JSON.stringify(isOfCaller ? [caller, tool] : [tool]))
  return exact.has(tool) || quota.admits(caller, name) ? name : shortened(JSON.stringify([caller, null]))
}

// More tools than a server has.
const MAX_NEW_NAMES = 1_000

interface ToolLimit {
  readonly index: number
  readonly isOfCaller: boolean
  readonly globs: readonly Glob[]
  readonly exact: ReadonlySet<string>
  readonly quota: NameQuota
}

const isByTool = ({ by }: Limit): boolean => by === 'tool' || by === 'caller+tool'

const LONGEST = 128

function nameOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : text.length <= LONGEST ? networkOf(text) : shortened(text)
}

/** Names may be long, and there may be many of them. No other name begins with `#`. */
const shortened = (text: string): string =>
  text.length <= LONGEST ? text : `#${hash('sha256', text, 'base64url')}`
