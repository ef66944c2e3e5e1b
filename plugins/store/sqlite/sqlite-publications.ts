import { hostname } from 'node:os'
import {
  ConfigError,
  type HealthState,
  type Log,
  type PublicationActor,
  type PublicationEvent,
  type PublicationLimits,
  type PublicationState,
  type Publications,
  type PublishedContents,
  type PurgedVersions,
  UpstreamError,
  type VersionKey,
} from 'sallyport'
import { identified } from '../publications/events.js'
import {
  checkServer,
  payloadOf,
  publisherFull,
  sourceFull,
  tooManyVersions,
  versionExists,
  versionUnknown,
} from '../publications/publication.js'
import { type Database, DatabaseError } from './database.js'
import type { FileLock, HeldLock } from './file-lock.js'
import type { WantedChange } from './published-tables.js'

interface Dependencies {
  readonly database: Database<'published'>
  readonly lock: FileLock
  readonly log: Pick<Log, 'warn' | 'error'>
}

const CHECK_EVERY = 2_000
/** Milliseconds by which clocks may differ. */
const AHEAD = 60_000

/** The publications of one source, which only this process may change. */
export class SqlitePublications implements Publications {
  private readonly watchers = new Set<() => void>()
  private isClosed = false
  private readonly changes = new Set<Promise<unknown>>()
  /** Why the last write failed, or why the next one will. */
  private fault: string | undefined
  private readonly timer = setInterval(() => void this.check(), CHECK_EVERY).unref()

  /** Throws a `ConfigError` when another process publishes here, or when the database is unusable. */
  static async open(source: string, dependencies: Dependencies): Promise<SqlitePublications> {
    const { database, lock } = dependencies
    let held: HeldLock | undefined
    try {
      await database.opened
      held = lock.tryAcquire()
      if (held === undefined) throw inUse(database.path, await database.call('holder', source))
      const id = await database.call('open', source, `process ${process.pid} on ${hostname()}`)
      return new SqlitePublications(id, held, dependencies)
    } catch (error) {
      held?.release()
      throw notOpened(database.path, error)
    }
  }

  private constructor(
    private readonly source: number,
    private readonly held: HeldLock,
    private readonly dependencies: Dependencies,
  ) {}

  get location(): string {
    return `database ${this.database.path}`
  }

  async read(since: string | undefined, signal: AbortSignal): Promise<PublishedContents> {
    const revision = await this.database.call('revision', this.source)
    const known = since === undefined ? Number.NaN : Number(since)
    const purged = await this.database.call('purged', this.source)
    const isKnown = Number.isInteger(known) && known >= purged && known <= revision
    const kind = !isKnown ? 'whole' : known === revision ? 'unchanged' : 'changes'
    const payloads = kind === 'unchanged' ? [] : this.payloads(isKnown ? known : -1, signal)
    return { kind, payloads, revision: () => String(revision) }
  }

  watch(changed: () => void): () => void {
    // A new object for each call: a caller may pass the same function twice.
    const watcher = (): void => changed()
    this.watchers.add(watcher)
    return () => void this.watchers.delete(watcher)
  }

  async publish(
    { name, version, server }: VersionKey & { readonly server: Uint8Array },
    actor: PublicationActor,
    limits: PublicationLimits,
  ): Promise<PublicationEvent> {
    checkServer(server)
    const key = { name, version }
    return this.change(async () => {
      const wanted = this.wanted(name, actor)
      const result = await this.database.call('publish', wanted, version, server, limits)
      if (result === 'exists') throw versionExists(key)
      if (result === 'too many') throw tooManyVersions(key, limits.maxVersions)
      if (result === 'source full') throw sourceFull(limits.maxBytes ?? 0)
      if (result === 'publisher full') throw publisherFull(limits.maxBytesOfActor ?? 0)
      this.stored(result.at)
      return result
    })
  }

  setStatus(
    target: { readonly name: string; readonly version?: string | undefined },
    state: PublicationState,
    actor: PublicationActor,
    { maxEvents }: Pick<PublicationLimits, 'maxEvents'> = {},
  ): Promise<readonly PublicationEvent[]> {
    return this.change(async () => {
      const wanted = this.wanted(target.name, actor)
      const result = await this.database.call('setStatus', wanted, target.version, state, maxEvents)
      if (result === 'unknown') throw versionUnknown(target)
      if (result === undefined) return []
      this.stored(result.at)
      return [result]
    })
  }

  purge(
    name: string,
    actor: PublicationActor,
    { maxEvents }: Pick<PublicationLimits, 'maxEvents'> = {},
  ): Promise<PurgedVersions> {
    return this.change(async () => {
      const result = await this.database.call('purge', this.wanted(name, actor), maxEvents)
      if (result === 'unknown') throw versionUnknown({ name })
      if (result.versions.length > 0) this.stored(result.at)
      return { versions: result.versions, bytes: result.bytes }
    })
  }

  history(name: string, limit: number): Promise<readonly PublicationEvent[]> {
    return this.database.call('history', this.source, name, limit)
  }

  publisher({ name, version }: VersionKey): Promise<PublicationActor | undefined> {
    return this.database.call('publisher', this.source, { name, version })
  }

  health(): HealthState {
    return this.fault === undefined ? { status: 'ok' } : { status: 'degraded', reason: this.fault }
  }

  /** Closes after the running writes. */
  async close(): Promise<void> {
    this.isClosed = true
    clearInterval(this.timer)
    await Promise.allSettled(this.changes)
    this.held.release()
  }

  private get database(): Database<'published'> {
    return this.dependencies.database
  }

  private wanted(name: string, actor: PublicationActor): WantedChange {
    return { source: this.source, name, actor: identified(actor), now: new Date().toISOString() }
  }

  private async *payloads(since: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (let after = 0; ; ) {
      const page = await this.database.call('page', this.source, since, after)
      for (const row of page) {
        signal.throwIfAborted()
        after = row.id
        yield payloadOf(row.version, row.server)
      }
      if (page.length === 0) return
    }
  }

  private async change<T>(work: () => Promise<T>): Promise<T> {
    if (this.isClosed) throw notStored('the gateway is stopping')
    const change = work()
    this.changes.add(change)
    try {
      const result = await change
      this.fault = undefined
      return result
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error
      const failure = notStored(error.failure.reason, error)
      this.fault = failure.message
      throw failure
    } finally {
      this.changes.delete(change)
    }
  }

  private stored(at: string): void {
    const { log } = this.dependencies
    if (Date.parse(at) - Date.now() > AHEAD)
      log.warn({ at }, 'the last change is dated in the future; later changes get the same date until then')
    for (const changed of this.watchers) {
      try {
        changed()
      } catch (err) {
        log.error({ err }, 'a listener for publications failed')
      }
    }
  }

  /**
   * Checks that the database exists, also without writes; after a failed write, checks whether the next one would
   * work.
   */
  private async check(): Promise<void> {
    try {
      await (this.fault === undefined
        ? this.database.call('revision', this.source)
        : this.database.call('probe'))
      this.fault = undefined
    } catch (error) {
      if (error instanceof DatabaseError) this.fault = notStored(error.failure.reason).message
    }
  }
}

const RETRY_AFTER = 5

const notStored = (reason: string, cause?: unknown): UpstreamError =>
  new UpstreamError('STORE_UNWRITABLE', `the publication was not stored: ${reason}`, {
    cause,
    statusCode: 503,
    retryAfter: RETRY_AFTER,
  })

const inUse = (path: string, holder: string): ConfigError =>
  new ConfigError([
    {
      place: path,
      message: `${holder || 'another process'} publishes here already: end it, give this one another directory, or use \`store/postgres\`, which several share`,
    },
  ])

/** A supervisor tries again after a full disk, and not after a wrong configuration. */
function notOpened(path: string, error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error
  const { kind, reason } = error.failure
  if (kind === 'disk') return new Error(`${path}: ${reason}`, { cause: error })
  const message = `what is published cannot be used: ${reason}`
  return new ConfigError([{ place: path, message }], { cause: error })
}
