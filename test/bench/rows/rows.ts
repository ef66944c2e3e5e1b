import type { BenchContext } from '../context.js'
import type { CallResult, Figure } from '../results.js'
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

/** One measurement of the bench. */
export interface Row {
  readonly key: string
  measure(context: BenchContext): Promise<Found>
}

interface Found {
  readonly calls?: readonly CallResult[]
  readonly figures?: readonly Figure[]
}

const figures = (key: string, measure: (context: BenchContext) => Promise<readonly Figure[]>): Row => ({
  key,
  measure: async (context) => ({ figures: await measure(context) }),
})

export const rows: readonly Row[] = [
  ...callRows.map((row) => ({
    key: row.key,
    measure: async (context: BenchContext) => ({ calls: await measureProxies(context, row) }),
  })),
  figures('access-log', measureAccessLog),
  figures('policy', measurePolicy),
  figures('observers', measureObservers),
  figures('events', measureFirstEvents),
  figures('streams', measureOpenStreams),
  figures('bodies', measureBodies),
  ...(['list', 'search', 'get'] as const).map((question) => ({
    key: `registry-${question}`,
    measure: async (context: BenchContext) => ({ calls: await measureRegistry(context, question) }),
  })),
  figures('start', measureStarts),
  figures('stdio', measureBridges),
  figures('workers', measureWorkers),
]
