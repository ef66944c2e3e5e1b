import { text } from 'node:stream/consumers'
import type { BenchContext } from '../context.js'
import { memory } from '../process-tree.js'
import type { Figure } from '../results.js'
import { patterned } from '../servers/pattern.js'
import type { HttpClient } from './http-client.js'
import { type ContestantClient, measureStreaming } from './streaming.js'

const BODY = 100 * 1024 * 1024

/** Both ways compare every byte. */
const ways: Readonly<Record<string, (client: HttpClient, size: number) => Promise<number>>> = {
  down: async (client, size) => patterned(await client.request(`/mcp?do=down&size=${size}`)),
  up: async (client, size) => Number(await text(await client.request('/mcp?do=up', size))),
}

/** Measures how much a process grows while it carries a large body, after one of half the size. */
export function measureBodies(context: BenchContext): Promise<readonly Figure[]> {
  return measureStreaming(context, async (all) => {
    const figures: Figure[] = []
    for (const each of all) {
      for (const way of Object.keys(ways)) figures.push(await growth(each, way))
    }
    return figures
  })
}

async function growth({ contestant: { name, pid }, client }: ContestantClient, way: string): Promise<Figure> {
  const carry = async (size: number): Promise<void> => {
    const came = await ways[way]?.(client, size).catch((cause: Error) => {
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
