import type { CallResult, Figure } from '../results.js'
import type { World } from '../world.js'
import { measureAccessLog } from './access-log.js'
import { measureBodies } from './bodies.js'
import { callRows } from './calls.js'
import { measureObservers } from './observers.js'
import { measurePolicy } from './policy.js'
import { measureProxies } from './proxied.js'
import { measureRegistry } from './registry.js'
import { measureStarts } from './starts.js'
import { measureBridges } from './stdio.js'
import { measureFirstEvents, measureOpenStreams } from './streams.js'
import { measureWorkers } from './workers.js'

/** One thing to measure. */
export interface Row {
  readonly key: string
  measure(world: World): Promise<Found>
}

interface Found {
  readonly calls?: readonly CallResult[]
  readonly figures?: readonly Figure[]
}

const figures = (key: string, measure: (world: World) => Promise<readonly Figure[]>): Row => ({
  key,
  measure: async (world) => ({ figures: await measure(world) }),
})

export const rows: readonly Row[] = [
  ...callRows.map((row) => ({
    key: row.key,
    measure: async (world: World) => ({ calls: await measureProxies(world, row) }),
  })),
  figures('access-log', measureAccessLog),
  figures('policy', measurePolicy),
  figures('observers', measureObservers),
  figures('events', measureFirstEvents),
  figures('streams', measureOpenStreams),
  figures('bodies', measureBodies),
  ...(['list', 'search', 'get'] as const).map((question) => ({
    key: `registry-${question}`,
    measure: async (world: World) => ({ calls: await measureRegistry(world, question) }),
  })),
  figures('start', measureStarts),
  figures('stdio', measureBridges),
  figures('workers', measureWorkers),
]
