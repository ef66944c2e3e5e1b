import type { Contestant } from '../contestant.js'
import type { BenchContext } from '../context.js'
import { withAccessLog } from '../proxies/own.js'
import type { Figure } from '../results.js'
import { median } from '../statistics.js'
import { callRows } from './calls.js'
import { check } from './check.js'
import { measureCalls } from './measure-calls.js'
import { startTarget, taskAndOrder } from './proxied.js'

const [NONE, ...WRITTEN] = ['off', 'errors', 'all'] as const

/** Measures successful calls with every setting of `--access-log`. */
export async function measureAccessLog(context: BenchContext): Promise<readonly Figure[]> {
  const row = callRows.find(({ key }) => key === 'rs256')
  if (row === undefined) throw new Error('no row has RS256 in')
  const target = await startTarget()
  const { task, token, order } = await taskAndOrder(context, row, target)
  const contestants: Contestant[] = []
  try {
    for (const requests of [NONE, ...WRITTEN]) contestants.push(await withAccessLog(task, requests))
    for (const one of contestants) await check(one, task, token)
    const targets = contestants.map((contestant) => ({ contestant, order }))
    const subject = contestants[0]?.name ?? ''
    const found = await measureCalls(context, targets, { row: 'access-log', title: TITLE, subject })
    const [off = Number.NaN, ...others] = found.map(({ cpu }) => median(cpu))
    return others.map((cpu, index): Figure => {
      const name = `--access-log ${WRITTEN[index]}, against ${NONE}`
      return { row: 'access-log', title: TITLE, name, value: cpu / off, unit: 'times' }
    })
  } finally {
    await Promise.all([...contestants, target].map((one) => one.stop()))
  }
}

const TITLE =
  'processor time of a call (RS256 in, a bearer and two headers out) with a line for it in the log'
