import type { Pool } from 'pg'
import type { Measure, Meter } from 'sallyport'

interface Measures {
  readonly connections: Measure
  readonly lost: Measure
}

/** What is measured of a database. Over a reload the lists before and after it share one, and each has a meter. */
export class DatabaseMeasures {
  private readonly meters = new Set<Measures>()

  constructor(private readonly pool: Pool) {
    for (const event of ['acquire', 'remove'] as const) pool.on(event, () => this.measure())
    // Emitted before the connection is among the idle ones.
    pool.on('release', () => queueMicrotask(() => this.measure()))
  }

  /** Measures by this one too, until the function that it returns is called. */
  add(meter: Meter): () => void {
    const measures = {
      connections: meter.gauge(
        'database_pool_connections',
        'Connections to the database by their state, and callers that wait for one',
        ['state'],
      ),
      lost: meter.counter(
        'database_connections_lost_total',
        'Connections to the database that ended unexpectedly',
        ['use'],
      ),
    }
    this.meters.add(measures)
    this.measure()
    return () => void this.meters.delete(measures)
  }

  /** Counted once: a counter goes on over a reload. */
  lost(use: string): void {
    const newest = [...this.meters].at(-1)
    newest?.lost(1, { use })
  }

  private measure(): void {
    const { totalCount, idleCount, waitingCount } = this.pool
    for (const { connections } of this.meters) {
      connections(totalCount - idleCount, { state: 'in use' })
      connections(idleCount, { state: 'idle' })
      connections(waitingCount, { state: 'waiting' })
    }
  }
}
