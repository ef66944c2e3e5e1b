import { text } from 'node:stream/consumers'
import { memory } from '../process-tree.js'
import type { Figure } from '../results.js'
import { patterned } from '../servers/pattern.js'
import type { World } from '../world.js'
import type { Asker } from './asker.js'
import { type Asked, measureLong } from './long.js'

const BODY = 100 * 1024 * 1024

/** Both of them look at every byte. */
const ways: Readonly<Record<string, (asker: Asker, size: number) => Promise<number>>> = {
  down: async (asker, size) => patterned(await asker.ask(`/mcp?do=down&size=${size}`)),
  up: async (asker, size) => Number(await text(await asker.ask('/mcp?do=up', size))),
}

/** By how much a process grows while it carries a large body; one of half the size goes before it. */
export function measureBodies(world: World): Promise<readonly Figure[]> {
  return measureLong(world, async (everyone) => {
    const figures: Figure[] = []
    for (const asked of everyone) {
      for (const way of Object.keys(ways)) figures.push(await growth(asked, way))
    }
    return figures
  })
}

async function growth({ contestant: { name, pid }, asker }: Asked, way: string): Promise<Figure> {
  const carry = async (size: number): Promise<void> => {
    const came = await ways[way]?.(asker, size).catch((cause: Error) => {
      throw new Error(`${name}, ${way}: ${cause.message}`, { cause })
    })
    if (came !== size) throw new Error(`${name}: ${came} of ${size} bytes came ${way}`)
  }
  await carry(BODY / 2)
  const before = memory(pid)
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, memory(pid))
  }, 10)
  try {
    await carry(BODY)
  } finally {
    clearInterval(watch)
  }
  const value = (Math.max(most, memory(pid)) - before) / 1e6
  return { row: `body-${way}`, title: `growth over a body of 100 MB ${way}`, name, value, unit: 'MB' }
}
