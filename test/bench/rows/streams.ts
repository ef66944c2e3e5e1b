import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import type { BenchContext } from '../context.js'
import { memory } from '../process-tree.js'
import { apache } from '../proxies/apache.js'
import type { Figure } from '../results.js'
import { median } from '../statistics.js'
import type { HttpClient } from './http-client.js'
import { type ContestantClient, measureStreaming } from './streaming.js'

// The first streams use up the memory that a process reserves at its start.
const [FIRST, STREAMS] = [500, 1_000]

/** Measures how much later the first event of a stream arrives than directly from the target. */
export function measureFirstEvents(context: BenchContext): Promise<readonly Figure[]> {
  const { firstEvents } = context.effort
  return measureStreaming(context, async (all, direct) => {
    const clients = [direct, ...all.map(({ client }) => client)]
    const times = clients.map((): number[] => [])
    for (let round = -firstEvents; round < firstEvents; round++) {
      for (const [index, client] of clients.entries()) {
        const time = await untilFirstEvent(client)
        if (round >= 0) times[index]?.push(time)
      }
    }
    const [fromTarget = Number.NaN, ...others] = times.map(median)
    return all.map(({ contestant: { name } }, index) => ({
      row: 'events',
      title: 'first event of a stream, behind that from the target itself',
      name,
      value: (others[index] ?? Number.NaN) - fromTarget,
      unit: 'ms',
    }))
  })
}

async function untilFirstEvent(client: HttpClient): Promise<number> {
  const began = performance.now()
  const answer = await client.request('/mcp?once')
  const over = once(answer, 'end')
  await once(answer, 'data')
  const time = performance.now() - began
  await over
  return time
}

/** Measures the memory of an open stream, after the first ones. Without Apache, which holds a thread for each. */
export function measureOpenStreams(context: BenchContext): Promise<readonly Figure[]> {
  const one = async (each: ContestantClient, direct: HttpClient): Promise<Figure> => {
    const { name, pid } = each.contestant
    const open = await opened(each, FIRST)
    await pause(SETTLING)
    const before = memory(pid)
    open.push(...(await opened(each, STREAMS)))
    await pause(SETTLING)
    const value = (memory(pid) - before) / STREAMS / 1000
    await everyStreamIsAlive(open, pid, direct)
    for (const stream of open) stream.destroy()
    return { row: 'streams', title: `memory of each of ${STREAMS} open streams`, name, value, unit: 'KB' }
  }
  return measureStreaming(
    context,
    async (all, direct) => {
      const figures: Figure[] = []
      for (const each of all) figures.push(await one(each, direct))
      return figures
    },
    [apache],
  )
}

/** Milliseconds in which a process frees memory. */
const SETTLING = 300

async function opened({ contestant, client }: ContestantClient, count: number): Promise<IncomingMessage[]> {
  const streams: IncomingMessage[] = []
  while (streams.length < count) {
    const some = await Promise.all(
      Array.from({ length: 50 }, () => client.request(`/mcp?by=${contestant.pid}`)),
    )
    await Promise.all(some.map((stream) => once(stream, 'data')))
    streams.push(...some)
  }
  return streams
}

async function everyStreamIsAlive(
  open: readonly IncomingMessage[],
  pid: number,
  direct: HttpClient,
): Promise<void> {
  const heard = open.map((stream) => once(stream, 'data'))
  const sent = direct.request(`/mcp?do=send&by=${pid}`)
  const [count] = await Promise.all([sent.then(text), ...heard])
  if (Number(count) !== open.length)
    throw new Error(`the target has ${count} streams, the caller ${open.length}`)
}
