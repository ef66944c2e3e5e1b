import type { Contestant } from '../contestant.js'
import type { BenchContext } from '../context.js'
import type { Order, Outcome } from '../load/order.js'
import { cpuSeconds, memory } from '../process-tree.js'
import type { CallResult } from '../results.js'
import { median } from '../statistics.js'

/** A contestant, and the calls that it gets. */
export interface CallTarget {
  readonly contestant: Contestant
  readonly order: Pick<Order, 'head' | 'body' | 'token' | 'status' | 'answer' | 'tls'>
}

export interface CallOptions {
  readonly row: string
  readonly title: string
  /** The contestant whose capacity sets half load. */
  readonly subject: string
  /** Files of new tokens: one for the warm-up, and one for each round. */
  readonly tokens?: readonly string[]
}

export const CONNECTIONS = 32

/**
 * Calls all targets in turn, round after round, so that noise of the machine affects all alike. The calls of the
 * warm-up do not count.
 */
export async function measureCalls(
  context: BenchContext,
  targets: readonly CallTarget[],
  { row, title, subject, tokens = [] }: CallOptions,
): Promise<CallResult[]> {
  const { seconds, warmUp, halfLoadOf } = context.effort
  const [unseen, ...inRounds] = tokens
  for (const target of targets) {
    await once(context, target, { calls: warmUp })
    // A new token costs more than a known one, so the warm-up sends new ones too.
    if (unseen !== undefined) await once(context, target, { tokens: unseen })
  }
  const full = await measureRounds(context, targets, (round) =>
    inRounds[round] === undefined ? { seconds } : { tokens: inRounds[round] },
  )
  const capacity = perSecond(full[targets.findIndex(({ contestant }) => contestant.name === subject)] ?? [])
  const rate = Math.floor(capacity / 2)
  const half = halfLoadOf.includes(row)
    ? await measureRounds(context, targets, () => ({ seconds, rate }))
    : []
  return targets.map(({ contestant }, index) => ({
    row,
    title,
    name: contestant.name,
    cpu: (full[index] ?? []).map(({ cpu }) => cpu),
    perSecond: perSecond(full[index] ?? []),
    ...times(full[index] ?? []),
    ...(half[index] !== undefined && { atHalf: { rate, ...times(half[index]) } }),
    memory: memory(contestant.pid),
  }))
}

interface Measured extends Outcome {
  /** Microseconds of processor time for a call. */
  readonly cpu: number
}

type Amount = Pick<Order, 'seconds' | 'calls' | 'rate' | 'tokens'>

async function measureRounds(
  context: BenchContext,
  targets: readonly CallTarget[],
  amount: (round: number) => Amount,
): Promise<Measured[][]> {
  const found: Measured[][] = targets.map(() => [])
  for (let round = 0; round < context.effort.rounds; round++) {
    for (const [index, target] of targets.entries()) {
      found[index]?.push(await once(context, target, amount(round)))
    }
  }
  return found
}

async function once(
  { load }: BenchContext,
  { contestant, order }: CallTarget,
  amount: Amount,
): Promise<Measured> {
  const { name, pid, port } = contestant
  const before = cpuSeconds(pid)
  const outcome = await load
    .run({ ...order, ...amount, port, connections: CONNECTIONS })
    .catch((error: Error) => {
      throw new Error(`${name}: ${error.message}`)
    })
  return { ...outcome, cpu: ((cpuSeconds(pid) - before) / outcome.requests) * 1e6 }
}

const perSecond = (measured: readonly Measured[]): number =>
  median(measured.map(({ requests, seconds }) => requests / seconds))

const times = (measured: readonly Measured[]): { p50: number; p99: number } => ({
  p50: median(measured.map(({ p50 }) => p50)),
  p99: median(measured.map(({ p99 }) => p99)),
})
