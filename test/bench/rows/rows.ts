import type { CallResult, Figure } from '../results.js'
import type { World } from '../world.js'
import { callRows } from './calls.js'
import { measureProxies } from './proxied.js'

/** One thing to measure. */
export interface Row {
  readonly key: string
  measure(world: World): Promise<Found>
}

interface Found {
  readonly calls?: readonly CallResult[]
  readonly figures?: readonly Figure[]
}

export const rows: readonly Row[] = [
  ...callRows.map((row) => ({
    key: row.key,
    measure: async (world: World) => ({ calls: await measureProxies(world, row) }),
  })),
]
