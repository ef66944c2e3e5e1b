import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sallyport, withFile } from '../anchors/own.js'
import type { Contestant } from '../contestant.js'
import { ownCpuSeconds } from '../process-tree.js'
import type { Figure } from '../results.js'
import { mean, median } from '../statistics.js'
import type { World } from '../world.js'
import { callRows } from './calls.js'
import { type Called, CONNECTIONS } from './measure-calls.js'
import { askedOf, startTarget } from './proxied.js'

/** A proxy with further plugins. */
export interface Equipped {
  readonly name: string
  readonly plugins: readonly object[]
}

/** Throws when a contestant leaves out what it is measured for. */
type Check = (contestant: Contestant, token: string) => Promise<void>

/** Two processes of one kind differ by more than what a plugin adds. */
const COPIES = 8
/** Of one time that is measured. Many short ones, in any order, are troubled alike by what else the machine does. */
const CALLS = 2_500
const TIMES_A_ROUND = 2

/** What plugins add to a call: each list against none, in one run, in several processes of each. */
export async function measureWithPlugins(
  world: World,
  { row, title }: Pick<Figure, 'row' | 'title'>,
  equipped: readonly Equipped[],
  check: Check,
): Promise<readonly Figure[]> {
  const plain = callRows.find(({ key }) => key === 'rs256')
  if (plain === undefined) throw new Error('no row has RS256 in')
  const target = await startTarget()
  const { task, token = '', order } = await askedOf(world, plain, target)
  const standing: Contestant[] = []
  try {
    for (let copy = 0; copy < COPIES; copy++) {
      standing.push(await sallyport.start(task, world.home))
      for (const [index, { name, plugins }] of equipped.entries()) {
        const file = join(world.home, `${row}-${index}.json`)
        writeFileSync(file, JSON.stringify({ plugins }))
        standing.push(await withFile(task, name, file))
      }
    }
    for (const one of standing) await check(one, token)
    const all = standing.map((contestant) => ({ contestant, cpu: [] as number[] }))
    for (const { contestant } of all) await cpuOfCalls(world, contestant, order, world.effort.warmUp)
    for (let time = 0; time < world.effort.rounds * TIMES_A_ROUND; time++) {
      for (const { contestant, cpu } of shuffled(all))
        cpu.push(await cpuOfCalls(world, contestant, order, CALLS))
    }
    const cpuOf = (wanted: string): number =>
      mean(all.filter(({ contestant }) => contestant.name === wanted).map(({ cpu }) => median(cpu)))
    const none = cpuOf(sallyport.name)
    return equipped.flatMap(({ name }): readonly Figure[] => {
      const cpu = cpuOf(name)
      return [
        { row, title, name: `${name}, against none`, value: cpu / none, unit: 'times' },
        { row, title, name, value: cpu - none, unit: 'µs' },
      ]
    })
  } finally {
    await Promise.all([...standing, target].map((one) => one.stop()))
  }
}

/** Microseconds for each of so many calls. */
async function cpuOfCalls(
  { load }: World,
  { pid, port }: Contestant,
  order: Called['order'],
  calls: number,
): Promise<number> {
  const before = ownCpuSeconds(pid)
  const { requests } = await load.run({ ...order, calls, port, connections: CONNECTIONS })
  return ((ownCpuSeconds(pid) - before) / requests) * 1e6
}

function shuffled<T>(all: readonly T[]): readonly T[] {
  const drawn = all.map((each) => ({ each, at: Math.random() }))
  return drawn.toSorted((a, b) => a.at - b.at).map(({ each }) => each)
}

/** Calls a tool, and returns the status of the answer. */
export async function callTool({ port }: Contestant, token: string, name: string): Promise<number> {
  const { status } = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }),
  })
  return status
}
