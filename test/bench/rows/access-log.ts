import { withAccessLog } from '../anchors/own.js'
import type { Contestant } from '../contestant.js'
import type { Figure } from '../results.js'
import { median } from '../statistics.js'
import type { World } from '../world.js'
import { callRows } from './calls.js'
import { check } from './check.js'
import { measureCalls } from './measure-calls.js'
import { askedOf, startTarget } from './proxied.js'

const [NONE, ...WRITTEN] = ['off', 'errors', 'all'] as const

/** The same calls, which all succeed, with every setting of `--access-log`. */
export async function measureAccessLog(world: World): Promise<readonly Figure[]> {
  const row = callRows.find(({ key }) => key === 'rs256')
  if (row === undefined) throw new Error('no row has RS256 in')
  const target = await startTarget()
  const { task, token, order } = await askedOf(world, row, target)
  const standing: Contestant[] = []
  try {
    for (const requests of [NONE, ...WRITTEN]) standing.push(await withAccessLog(task, requests))
    for (const one of standing) await check(one, task, token)
    const everyone = standing.map((contestant) => ({ contestant, order }))
    const subject = standing[0]?.name ?? ''
    const found = await measureCalls(world, everyone, { row: 'access-log', title: TITLE, subject })
    const [off = Number.NaN, ...others] = found.map(({ cpu }) => median(cpu))
    return others.map((cpu, index): Figure => {
      const name = `--access-log ${WRITTEN[index]}, against ${NONE}`
      return { row: 'access-log', title: TITLE, name, value: cpu / off, unit: 'times' }
    })
  } finally {
    await Promise.all([...standing, target].map((one) => one.stop()))
  }
}

const TITLE =
  'processor time of a call (RS256 in, a bearer and two headers out) with a line for it in the log'
