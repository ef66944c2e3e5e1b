import { availableParallelism } from 'node:os'
import { inProcesses } from '../anchors/own.js'
import type { Contestant } from '../contestant.js'
import type { Figure } from '../results.js'
import { median } from '../statistics.js'
import type { World } from '../world.js'
import { callRows } from './calls.js'
import { check } from './check.js'
import { CONNECTIONS } from './measure-calls.js'
import { askedOf, startTarget } from './proxied.js'

// Of this module's load, and not later: by then the run has left a core.
const CORES = availableParallelism()
const COUNTS = [1, 2] as const
// Beyond these a longer run says nothing more: what is compared here differs by more than its noise, or not at all.
const MOST_ROUNDS = 3
const MOST_WARM_UP = 5_000

/** The same calls through one process and through two, in turn, round after round. */
export async function measureWorkers(world: World): Promise<readonly Figure[]> {
  const row = callRows.find(({ key }) => key === 'rs256')
  if (row === undefined) throw new Error('no row has RS256 in')
  const { rounds, seconds, warmUp } = world.effort
  const target = await startTarget()
  const { task, token, order } = await askedOf(world, row, target)
  const standing: Contestant[] = []
  try {
    for (const count of COUNTS) standing.push(await inProcesses(task, count))
    const ask = async ({ port }: Contestant, extent: { seconds: number } | { calls: number }) => {
      const outcome = await world.load.run({ ...order, ...extent, port, connections: CONNECTIONS })
      return outcome.requests / outcome.seconds
    }
    for (const one of standing) {
      await check(one, task, token)
      await ask(one, { calls: Math.min(warmUp, MOST_WARM_UP) })
    }
    const found: number[][] = standing.map(() => [])
    for (let round = 0; round < Math.min(rounds, MOST_ROUNDS); round++) {
      for (const [index, one] of standing.entries()) found[index]?.push(await ask(one, { seconds }))
    }
    return figuresOf(found.map(median))
  } finally {
    await Promise.all([...standing, target].map((one) => one.stop()))
  }
}

function figuresOf(rates: readonly number[]): Figure[] {
  const title = `RS256 in, a bearer and two headers out; ${CORES} cores, one of which load and target have too`
  const rows = COUNTS.map((count, index): Figure => {
    return {
      row: 'workers',
      title,
      name: `--workers ${count}`,
      value: rates[index] ?? Number.NaN,
      unit: 'calls/s',
    }
  })
  const [alone = Number.NaN, together = Number.NaN] = rates
  const ratio: Figure = { row: 'workers', title, name: '2 against 1', value: together / alone, unit: 'times' }
  return [...rows, ratio]
}
