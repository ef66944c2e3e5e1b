import { Arena, LARGEST_CHUNK } from './arena.js'
import type { Breath } from './breath.js'
import { type Columns, columnsOf } from './columns.js'
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
  const kept = chunks.filter((_, chunk) => living[chunk] !== 0 && !sparse.includes(chunk))
  const arena = new Arena(kept.length)
  const moved = new Map(kept.map((chunk, index) => [chunks.indexOf(chunk), index]))
  const { chunk: chunkOf, start, size } = columns
  for (let row = 0; row < size.length; row++) {
    const chunk = chunkOf[row] ?? 0
    const stays = moved.get(chunk)
    if (stays !== undefined) chunkOf[row] = stays
    else {
      const from = start[row] ?? 0
      const text = chunks[chunk]?.subarray(from, from + (size[row] ?? 0)) ?? Buffer.alloc(0)
      const place = arena.put(text)
      chunkOf[row] = place.chunk
      start[row] = place.start
    }
    if (row % ROWS_AT_ONCE === 0 && breath.due) await breath.take()
  }
  return new Holding(columns, [...kept, ...arena.chunks.map(bufferOver)])
}

const ROWS_AT_ONCE = 256

async function livingBytes({ chunk, size }: Columns, chunks: number, breath: Breath): Promise<Float64Array> {
  const living = new Float64Array(chunks)
  for (let row = 0; row < size.length; row++) {
    const at = chunk[row] ?? 0
    living[at] = (living[at] ?? 0) + (size[row] ?? 0)
    if (row % ROWS_AT_ONCE === 0 && breath.due) await breath.take()
  }
  return living
}

/** Chunks that are not half as full as a chunk may be. One by itself stays when it is as small as that. */
function sparseAmong(chunks: readonly Buffer[], living: Float64Array): readonly number[] {
  const sparse = [...chunks.keys()].filter((chunk) => {
    const bytes = living[chunk] ?? 0
    return bytes > 0 && bytes < LARGEST_CHUNK / 2
  })
  const [first = 0] = sparse
  const single = sparse.length === 1 && (living[first] ?? 0) * 2 >= (chunks[first]?.length ?? 0)
  return single ? [] : sparse
}
