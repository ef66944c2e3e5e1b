import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { apache } from '../anchors/apache.js'
import { memory } from '../process-tree.js'
import type { Figure } from '../results.js'
import { median } from '../statistics.js'
import type { World } from '../world.js'
import type { Asker } from './asker.js'
import { type Asked, measureLong } from './long.js'

// What a process has in reserve from its start is used up by the first ones.
const [FIRST, STREAMS] = [500, 1_000]

/** How much later than from the target itself the first event of a stream comes. */
export function measureFirstEvents(world: World): Promise<readonly Figure[]> {
  const { firstEvents } = world.effort
  return measureLong(world, async (everyone, direct) => {
    const askers = [direct, ...everyone.map(({ asker }) => asker)]
    const times = askers.map((): number[] => [])
    for (let round = -firstEvents; round < firstEvents; round++) {
      for (const [index, asker] of askers.entries()) {
        const time = await untilFirstEvent(asker)
        if (round >= 0) times[index]?.push(time)
      }
    }
    const [fromTarget = Number.NaN, ...others] = times.map(median)
    return everyone.map(({ contestant: { name } }, index) => ({
      row: 'events',
      title: 'first event of a stream, behind that from the target itself',
      name,
      value: (others[index] ?? Number.NaN) - fromTarget,
      unit: 'ms',
    }))
  })
}

async function untilFirstEvent(asker: Asker): Promise<number> {
  const began = performance.now()
  const answer = await asker.ask('/mcp?once')
  const over = once(answer, 'end')
  await once(answer, 'data')
  const time = performance.now() - began
  await over
  return time
}

/** What an open stream takes of memory, beyond the first ones. Apache holds a thread for each, and stays out. */
export function measureOpenStreams(world: World): Promise<readonly Figure[]> {
  const one = async (asked: Asked, direct: Asker): Promise<Figure> => {
    const { name, pid } = asked.contestant
    const open = await opened(asked, FIRST)
    await pause(SETTLING)
    const before = memory(pid)
    open.push(...(await opened(asked, STREAMS)))
    await pause(SETTLING)
    const value = (memory(pid) - before) / STREAMS / 1000
    await everyStreamIsAlive(open, pid, direct)
    for (const stream of open) stream.destroy()
    return { row: 'streams', title: `memory of each of ${STREAMS} open streams`, name, value, unit: 'KB' }
  }
  return measureLong(
    world,
    async (everyone, direct) => {
      const figures: Figure[] = []
      for (const asked of everyone) figures.push(await one(asked, direct))
      return figures
    },
    [apache],
  )
}

/** Milliseconds for what is let go to be let go. */
const SETTLING = 300

async function opened({ contestant, asker }: Asked, count: number): Promise<IncomingMessage[]> {
  const streams: IncomingMessage[] = []
  while (streams.length < count) {
    const some = await Promise.all(Array.from({ length: 50 }, () => asker.ask(`/mcp?by=${contestant.pid}`)))
    await Promise.all(some.map((stream) => once(stream, 'data')))
    streams.push(...some)
  }
  return streams
}

async function everyStreamIsAlive(
  open: readonly IncomingMessage[],
  pid: number,
  direct: Asker,
): Promise<void> {
  const heard = open.map((stream) => once(stream, 'data'))
  const telling = direct.ask(`/mcp?do=tell&by=${pid}`)
  const [told] = await Promise.all([telling.then(text), ...heard])
  if (Number(told) !== open.length)
    throw new Error(`the target has ${told} streams, the caller ${open.length}`)
}
