import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Contestant } from '../contestant.js'
import type { BenchContext } from '../context.js'
import { ownCpuSeconds } from '../process-tree.js'
import { sallyport, withFile } from '../proxies/own.js'
import type { Figure } from '../results.js'
import { mean, median } from '../statistics.js'
import { callRows } from './calls.js'
import { type CallTarget, CONNECTIONS } from './measure-calls.js'
import { startTarget, taskAndOrder } from './proxied.js'

/** Plugins that a measured proxy runs in addition. */
export interface PluginList {
  readonly name: string
  readonly plugins: readonly object[]
}

/** Throws when a contestant does not do the measured work. */
type Check = (contestant: Contestant, token: string) => Promise<void>

/** Two processes of one kind differ by more than what a plugin adds. */
const COPIES = 8
/** Calls of one measurement. Other work of the machine affects many short measurements in random order alike. */
const CALLS = 2_500
const TIMES_A_ROUND = 2

/** Measures the time that plugins add to a call: each list against no plugins, in several processes of each. */
export async function measureWithPlugins(
  context: BenchContext,
  { row, title }: Pick<Figure, 'row' | 'title'>,
  lists: readonly PluginList[],
  check: Check,
): Promise<readonly Figure[]> {
  const plain = callRows.find(({ key }) => key === 'rs256')
  if (plain === undefined) throw new Error('no row has RS256 in')
  const target = await startTarget()
  const { task, token = '', order } = await taskAndOrder(context, plain, target)
  const contestants: Contestant[] = []
  try {
    for (let copy = 0; copy < COPIES; copy++) {
      contestants.push(await sallyport.start(task, context.home))
      for (const [index, { name, plugins }] of lists.entries()) {
        const file = join(context.home, `${row}-${index}.json`)
        writeFileSync(file, JSON.stringify({ plugins }))
        contestants.push(await withFile(task, name, file))
      }
    }
    for (const one of contestants) await check(one, token)
    const all = contestants.map((contestant) => ({ contestant, cpu: [] as number[] }))
    for (const { contestant } of all) await cpuOfCalls(context, contestant, order, context.effort.warmUp)
    for (let time = 0; time < context.effort.rounds * TIMES_A_ROUND; time++) {
      for (const { contestant, cpu } of shuffled(all))
        cpu.push(await cpuOfCalls(context, contestant, order, CALLS))
    }
    const cpuOf = (wanted: string): number =>
      mean(all.filter(({ contestant }) => contestant.name === wanted).map(({ cpu }) => median(cpu)))
    const none = cpuOf(sallyport.name)
    return lists.flatMap(({ name }): readonly Figure[] => {
      const cpu = cpuOf(name)
      return [
        { row, title, name: `${name}, against none`, value: cpu / none, unit: 'times' },
        { row, title, name, value: cpu - none, unit: 'µs' },
      ]
    })
  } finally {
    await Promise.all([...contestants, target].map((one) => one.stop()))
  }
}

/** Microseconds of processor time for each of so many calls. */
async function cpuOfCalls(
  { load }: BenchContext,
  { pid, port }: Contestant,
  order: CallTarget['order'],
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

/** Calls a tool, and returns the status of the response. */
export async function callTool({ port }: Contestant, token: string, name: string): Promise<number> {
  const { status } = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }),
  })
  return status
}
