import type { Contestant } from '../contestant.js'
import type { Order, Outcome } from '../load/order.js'
import { cpuSeconds, memory } from '../process-tree.js'
import type { CallResult } from '../results.js'
import { median } from '../statistics.js'
import type { World } from '../world.js'

/** Something that is called, and what to call it with. */
export interface Called {
  readonly contestant: Contestant
  readonly order: Pick<Order, 'head' | 'body' | 'token' | 'status' | 'answer' | 'tls'>
}

export interface Manner {
  readonly row: string
  readonly title: string
  /** Half load is half of what this one carries. */
  readonly subject: string
  /** Files of tokens that nobody has seen: for the calls that do not count, and for each round. */
  readonly tokens?: readonly string[]
}

export const CONNECTIONS = 32

/**
 * Calls everyone in turn, round after round, so that a noisy machine troubles all alike. A number of calls goes before
 * that does not count.
 */
export async function measureCalls(
  world: World,
  everyone: readonly Called[],
  { row, title, subject, tokens = [] }: Manner,
): Promise<CallResult[]> {
  const { seconds, warmUp, halfLoadOf } = world.effort
  const [unseen, ...inRounds] = tokens
  for (const called of everyone) {
    await once(world, called, { calls: warmUp })
    // What a new token costs is not what one costs that was seen before.
    if (unseen !== undefined) await once(world, called, { tokens: unseen })
  }
  const full = await inTurn(world, everyone, (round) =>
    inRounds[round] === undefined ? { seconds } : { tokens: inRounds[round] },
  )
  const capacity = perSecond(full[everyone.findIndex(({ contestant }) => contestant.name === subject)] ?? [])
  const rate = Math.floor(capacity / 2)
  const half = halfLoadOf.includes(row) ? await inTurn(world, everyone, () => ({ seconds, rate })) : []
  return everyone.map(({ contestant }, index) => ({
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

type Extent = Pick<Order, 'seconds' | 'calls' | 'rate' | 'tokens'>

async function inTurn(
  world: World,
  everyone: readonly Called[],
  extent: (round: number) => Extent,
): Promise<Measured[][]> {
  const found: Measured[][] = everyone.map(() => [])
  for (let round = 0; round < world.effort.rounds; round++) {
    for (const [index, called] of everyone.entries()) {
      found[index]?.push(await once(world, called, extent(round)))
    }
  }
  return found
}

async function once({ load }: World, { contestant, order }: Called, extent: Extent): Promise<Measured> {
  const { name, pid, port } = contestant
  const before = cpuSeconds(pid)
  const outcome = await load
    .run({ ...order, ...extent, port, connections: CONNECTIONS })
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
