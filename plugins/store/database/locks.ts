import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from 'sallyport'
import { KeyedMutex } from '../keyed-mutex.js'
import { databaseFailure, lockLost, unavailable } from './failure.js'
import type { Session } from './session.js'
import type { Statements, TransactionOptions } from './transaction.js'

/** A lock that this process holds. */
export interface Lock {
  /** Whether the work under the lock has ended. */
  isReleased(): boolean
  /** Aborted when the lock was lost. */
  readonly signal: AbortSignal
  /** Runs a statement on the connection that holds the lock: it fails when the lock was lost. */
  transaction<T>(work: (statements: Statements) => Promise<T>, options?: TransactionOptions): Promise<T>
}

interface Dependencies {
  readonly schema: string
  readonly log: Pick<Log, 'warn'>
  readonly open: () => Promise<Session>
  /** Counts a connection that was lost. */
  readonly lost: () => void
}

/** Milliseconds between two attempts, random, so that processes do not retry in step. */
const pause = (): number => 50 + Math.random() * 100
const WARN_AFTER = 3_000
const FAILURE_LASTS = 500
// Longer than FAILURE_LASTS: the restart of a server, or a failover, takes about as long.
const RETRIED_FOR = 1_000
const leadPause = (): number => 500 + Math.random() * 1_000

/**
 * Locks of this process in the database, all on one connection: with a connection for each, nested locks would wait for
 * connections that others hold. The server lets a session take its own lock twice, so a mutex within the process comes
 * first.
 */
export class Locks {
  private session: Promise<Session> | undefined
  private isClosed = false
  private failedAt = Number.NEGATIVE_INFINITY
  private failure: unknown
  private readonly mutex = new KeyedMutex()

  constructor(private readonly dependencies: Dependencies) {}

  /** Waits for the lock, and runs `work` under it. Throws when the lock was lost meanwhile. */
  async locked<T>(key: string, work: (lock: Lock) => Promise<T>): Promise<T> {
    return this.mutex.run(key, async () => {
      const begun = performance.now()
      let warned = false
      for (;;) {
        const lock = await this.tryAcquire(key).catch((error: unknown) => {
          // The connection may have ended during the wait, and the server may be reachable again.
          if (performance.now() - begun > RETRIED_FOR) throw error
        })
        if (lock !== undefined) return lock.run(work)
        if (!warned && performance.now() - begun > WARN_AFTER) {
          warned = true
          this.dependencies.log.warn({ lock: key }, 'waiting for a lock that another process holds')
        }
        await delay(pause())
      }
    })
  }

  /** Calls `work` whenever this process gets the lock, until the caller calls the returned function. */
  lead(key: string, work: (lock: Lock) => void): () => Promise<void> {
    const stopping = new AbortController()
    const done = this.mutex.run(key, async () => {
      while (!stopping.signal.aborted && !this.isClosed) {
        const lock = await this.tryAcquire(key).catch(() => undefined)
        await lock
          ?.run(async (held) => {
            const signal = AbortSignal.any([held.signal, stopping.signal])
            if (signal.aborted) return
            work({ ...held, signal })
            await aborted(signal)
          })
          .catch(() => {})
        await delay(leadPause(), undefined, { signal: stopping.signal }).catch(() => {})
      }
    })
    return () => {
      stopping.abort()
      return done
    }
  }

  /** Ends the connection, and with it all locks. */
  async close(): Promise<void> {
    this.isClosed = true
    const session = await this.session?.catch(() => undefined)
    session?.end()
  }

  private async tryAcquire(key: string): Promise<HeldLock | undefined> {
    const session = await this.connected()
    const id = lockId(this.dependencies.schema, key)
    const [row] = await session.runBound(
      'select $1 = pg_backend_pid() as bound, $1 = pg_backend_pid() and pg_try_advisory_lock($2) as got',
      [id],
    )
    return row?.['got'] === true ? new HeldLock(session, id) : undefined
  }

  private async connected(): Promise<Session> {
    if (this.isClosed) throw unavailable('the gateway stops')
    // Otherwise each queued caller would wait for the same silent server.
    if (this.session === undefined && performance.now() - this.failedAt < FAILURE_LASTS) throw this.failure
    this.session ??= this.dependencies.open().then(
      (session) => {
        const ended = (): void => {
          this.session = undefined
          if (!this.isClosed) this.dependencies.lost()
        }
        if (session.ended.aborted) ended()
        else session.ended.addEventListener('abort', ended)
        return session
      },
      (error: unknown) => {
        this.session = undefined
        this.failedAt = performance.now()
        this.failure = databaseFailure(error)
        throw this.failure
      },
    )
    return this.session
  }
}

class HeldLock {
  constructor(
    private readonly session: Session,
    private readonly id: string,
  ) {}

  async run<T>(work: (lock: Lock) => Promise<T>): Promise<T> {
    const { session } = this
    let isReleased = false
    try {
      return await work({
        signal: session.ended,
        isReleased: () => isReleased,
        async transaction(statements, options) {
          if (isReleased || session.ended.aborted) throw lockLost()
          return session.transaction(statements, options)
        },
      })
    } finally {
      isReleased = true
      // When this fails the connection ends, and the lock with it.
      await session
        .runBound('select $1 = pg_backend_pid() and pg_advisory_unlock($2) as bound', [this.id])
        .catch(() => {})
    }
  }
}

/** A number of 64 bits, as the server takes it. Other gateways may share the database, each in its schema. */
function lockId(schema: string, key: string): string {
  const digest = hash('sha256', `${schema}\0${key}`, 'buffer')
  return String(digest.readBigInt64BE())
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
