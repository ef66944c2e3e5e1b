import { availableParallelism } from 'node:os'
import type { Contestant } from '../contestant.js'
import type { BenchContext } from '../context.js'
import { inProcesses } from '../proxies/own.js'
import type { Figure } from '../results.js'
import { median } from '../statistics.js'
import { callRows } from './calls.js'
import { check } from './check.js'
import { CONNECTIONS } from './measure-calls.js'
import { startTarget, taskAndOrder } from './proxied.js'

// Read when this module loads: later the process is bound to one core.
const CORES = availableParallelism()
const COUNTS = [1, 2] as const
// More rounds show nothing new: one and two workers differ by more than the noise, or not at all.
const MOST_ROUNDS = 3
const MOST_WARM_UP = 5_000

/** Measures the same calls through one process and through two, in turn, round after round. */
export async function measureWorkers(context: BenchContext): Promise<readonly Figure[]> {
  const row = callRows.find(({ key }) => key === 'rs256')
  if (row === undefined) throw new Error('no row has RS256 in')
  const { rounds, seconds, warmUp } = context.effort
  const target = await startTarget()
  const { task, token, order } = await taskAndOrder(context, row, target)
  const contestants: Contestant[] = []
  try {
    for (const count of COUNTS) contestants.push(await inProcesses(task, count))
    const ask = async ({ port }: Contestant, amount: { seconds: number } | { calls: number }) => {
      const outcome = await context.load.run({ ...order, ...amount, port, connections: CONNECTIONS })
      return outcome.requests / outcome.seconds
    }
    for (const one of contestants) {
      await check(one, task, token)
      await ask(one, { calls: Math.min(warmUp, MOST_WARM_UP) })
    }
    const found: number[][] = contestants.map(() => [])
    for (let round = 0; round < Math.min(rounds, MOST_ROUNDS); round++) {
      for (const [index, one] of contestants.entries()) found[index]?.push(await ask(one, { seconds }))
    }
    return figuresOf(found.map(median))
  } finally {
    await Promise.all([...contestants, target].map((one) => one.stop()))
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
