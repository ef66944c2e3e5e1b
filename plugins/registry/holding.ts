import { Arena, LARGEST_CHUNK } from './arena.js'
import type { Breath } from './breath.js'
import { type Columns, columnsOf, PLACE } from './columns.js'
import { bufferOver } from './names.js'
import { Rows } from './rows.js'

/** What is held from one source at one moment. */
export class Holding {
  readonly rows: Rows

  constructor(
    readonly columns: Columns,
    /** Where the texts of the versions lie. */
    readonly chunks: readonly Buffer[],
  ) {
    this.rows = new Rows(columns)
  }

  get size(): number {
    return this.rows.size
  }

  /** About what it takes in memory. */
  get bytes(): number {
    return this.chunks.reduce((sum, { length }) => sum + length, 0)
  }
}

export const NOTHING = new Holding(columnsOf([]), [])

/**
 * A holding over columns that nobody reads yet. Chunks without a text in them are let go, and what lies in chunks
 * that are mostly empty moves together, so that old texts take no more room than there are living ones.
 */
export async function holdingOf(
  columns: Columns,
  chunks: readonly Buffer[],
  breath: Breath,
): Promise<Holding> {
  const living = await livingBytes(columns, chunks.length, breath)
  const sparse = sparseAmong(chunks, living)
  const staying = [...chunks.keys()].filter((chunk) => living[chunk] !== 0 && !sparse.has(chunk))
  const renumbered = new Map(staying.map((chunk, index) => [chunk, index]))
  const arena = new Arena(staying.length)
  const { places } = columns
  for (let at = 0; at < places.length; at += PLACE) {
    const chunk = places[at] ?? 0
    const number = renumbered.get(chunk)
    if (number !== undefined) places[at] = number
    else {
      const start = places[at + 1] ?? 0
      const text = chunks[chunk]?.subarray(start, start + (places[at + 2] ?? 0)) ?? Buffer.alloc(0)
      const place = arena.put(text)
      places[at] = place.chunk
      places[at + 1] = place.start
    }
    if (at % AT_ONCE === 0 && breath.due) await breath.take()
  }
  const kept = staying.flatMap((chunk) => chunks[chunk] ?? [])
  return new Holding(columns, [...kept, ...arena.chunks.map(bufferOver)])
}

const AT_ONCE = 256 * PLACE

async function livingBytes({ places }: Columns, chunks: number, breath: Breath): Promise<Float64Array> {
  const living = new Float64Array(chunks)
  for (let at = 0; at < places.length; at += PLACE) {
    const chunk = places[at] ?? 0
    living[chunk] = (living[chunk] ?? 0) + (places[at + 2] ?? 0)
    if (at % AT_ONCE === 0 && breath.due) await breath.take()
  }
  return living
}

/** Chunks that are not half as full as they may be. One by itself stays when it is just a small one. */
function sparseAmong(chunks: readonly Buffer[], living: Float64Array): ReadonlySet<number> {
  const sparse = [...chunks.keys()].filter((chunk) => {
    const bytes = living[chunk] ?? 0
    return bytes > 0 && bytes * 2 < Math.max(LARGEST_CHUNK, chunks[chunk]?.length ?? 0)
  })
  const [first = 0] = sparse
  const single = sparse.length === 1 && (living[first] ?? 0) * 2 >= (chunks[first]?.length ?? 0)
  return new Set(single ? [] : sparse)
}
