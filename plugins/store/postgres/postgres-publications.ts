import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type PublicationActor,
  type PublicationEvent,
  type PublicationLimits,
  type PublicationState,
  type Publications,
  type PublishedContents,
  type PurgedVersions,
  type StoredContents,
  type StoredDocument,
  UpstreamError,
  type VersionKey,
} from 'sallyport'
import type { Database, Statements } from '../database/database.js'
import { tooSlow } from '../database/failure.js'
import { Semaphore } from '../database/semaphore.js'
import { READ_LIMIT, WRITE_LIMIT } from '../database/transaction.js'
import { publishEvent, purgeEvent, statusEvent } from '../publications/events.js'
import {
  checkServer,
  publisherFull,
  sourceFull,
  tooManyVersions,
  versionExists,
  versionUnknown,
} from '../publications/publication.js'
import type { SqliteSource } from '../sqlite/sqlite-sources.js'
import { openContents } from './open-contents.js'
import {
  countVersions,
  findEvents,
  findPublisher,
  findVersions,
  hasEvents,
  heldBytes,
  insertEvent,
  insertVersion,
  nextRevision,
  type PublishedSource,
  purgeVersions,
  readPublished,
  updateStates,
} from './publication-rows.js'
import { batches } from './source-rows.js'

interface Options {
  readonly database: Database
  /** The copy on this machine. */
  readonly copy: SqliteSource | undefined
  readonly copyFailed: (error: unknown) => void
}

type Work<T> = (statements: Statements, source: PublishedSource) => Promise<T>

/** The publications of one source, in the database. */
export class PostgresPublications implements Publications {
  // Writes to one source wait for each other in the database: queued here, they hold no connection meanwhile.
  private readonly writes = new Semaphore(1)
  private readonly copy: PublishedCopy | undefined

  constructor(
    readonly location: string,
    private readonly source: string,
    private readonly options: Options,
  ) {
    const { copy, copyFailed } = options
    const whole = (signal: AbortSignal) => this.open(undefined, signal)
    this.copy = copy && new PublishedCopy(copy, whole, copyFailed)
  }

  async read(since: string | undefined, signal: AbortSignal): Promise<PublishedContents> {
    try {
      const known = Number(since ?? Number.NaN)
      const contents = await this.open(Number.isSafeInteger(known) ? known : undefined, signal)
      if (contents === undefined) return { kind: 'unchanged', payloads: [], revision: () => since ?? '' }
      this.copy?.renew()
      return published(contents)
    } catch (error) {
      if (signal.aborted || since !== undefined) throw error
      const copied = await this.copy?.read(signal)
      if (copied === undefined) throw error
      return published(copied)
    }
  }

  watch(changed: () => void): () => void {
    return this.options.database.listen(this.topic, changed)
  }

  async publish(
    version: VersionKey & { readonly server: Uint8Array },
    actor: PublicationActor,
    limits: PublicationLimits,
  ): Promise<PublicationEvent> {
    checkServer(version.server)
    return this.write(version.name, async (statements, source) => {
      if (!(await insertVersion(statements, source, version, actor))) throw versionExists(version)
      await checkRoom(statements, source, version, actor, limits)
      const event = publishEvent(version, actor, source.at)
      await insertEvent(statements, source, event, limits.maxEvents)
      return event
    })
  }

  setStatus(
    target: { readonly name: string; readonly version?: string | undefined },
    state: PublicationState,
    actor: PublicationActor,
    { maxEvents }: Pick<PublicationLimits, 'maxEvents'> = {},
  ): Promise<readonly PublicationEvent[]> {
    const work = async (statements: Statements, source: PublishedSource): Promise<PublicationEvent[]> => {
      const versions = await findVersions(statements, source, target)
      if (versions.length === 0) throw versionUnknown(target)
      const { event, changed } = statusEvent(versions, state, actor, source.at)
      if (event === undefined) throw new NothingToStore()
      // One statement for each version would take longer than the limit of a write.
      for (const batch of batches(changed, () => 0)) await updateStates(statements, source, batch, event)
      await insertEvent(statements, source, event, maxEvents)
      return [event]
    }
    return this.write(target.name, work).catch((error: unknown) => {
      if (error instanceof NothingToStore) return []
      throw error
    })
  }

  purge(
    name: string,
    actor: PublicationActor,
    { maxEvents }: Pick<PublicationLimits, 'maxEvents'> = {},
  ): Promise<PurgedVersions> {
    const work = async (statements: Statements, source: PublishedSource): Promise<PurgedVersions> => {
      if ((await countVersions(statements, source, name)) === 0) throw versionUnknown({ name })
      const found = await findVersions(statements, source, { name })
      const deleted = found.filter(({ state }) => state.status === 'deleted')
      const event = purgeEvent(deleted, actor, source.at)
      if (event === undefined) throw new NothingToStore()
      const bytes = await purgeVersions(statements, source, name, deleted)
      await insertEvent(statements, source, event, maxEvents)
      return { versions: deleted.map(({ version }) => version), bytes }
    }
    return this.write(name, work).catch((error: unknown) => {
      if (error instanceof NothingToStore) return { versions: [], bytes: 0 }
      throw error
    })
  }

  history(name: string, limit: number): Promise<readonly PublicationEvent[]> {
    return this.options.database.transaction((statements) => findEvents(statements, this.source, name, limit))
  }

  publisher(version: VersionKey): Promise<PublicationActor | undefined> {
    return this.options.database.transaction((statements) => findPublisher(statements, this.source, version))
  }

  async close(): Promise<void> {
    await this.copy?.close()
  }

  /** Commits all of `work`, or nothing when it throws. Settles when the result of the commit is known. */
  private async write<T>(name: string, work: Work<T>): Promise<T> {
    const end = performance.now() + WRITE_LIMIT
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(tooSlow()), WRITE_LIMIT - READ_LIMIT)
    await this.writes.begin(late.signal).finally(() => clearTimeout(timer))
    try {
      return await this.commit(name, work, end)
    } finally {
      this.writes.end()
    }
  }

  private async commit<T>(name: string, work: Work<T>, end: number): Promise<T> {
    const { database } = this.options
    const requestId = randomBytes(16)
    let done: { readonly result: T } | undefined
    let isUncertain = false
    const uncertain = (): void => {
      isUncertain = true
    }
    const transaction = async (statements: Statements): Promise<T> => {
      const result = await work(statements, await nextRevision(statements, this.source, requestId))
      await database.notify(statements, this.topic)
      done = { result }
      return result
    }
    try {
      // The remaining time is for the query whether the write was stored.
      const limit = end - performance.now() - READ_LIMIT
      return await database.transaction(transaction, { limit, uncertain })
    } catch (error) {
      if (!isUncertain || done === undefined) throw error
      if (await this.isStored(name, requestId, end)) return done.result
      throw error
    }
  }

  /** Checks once, after a commit whose answer was lost, whether the write was stored. */
  private async isStored(name: string, requestId: Buffer, end: number): Promise<boolean> {
    // Taking the lock of the source waits for the end of that transaction, which may still be running.
    const ask = async (statements: Statements): Promise<boolean> =>
      hasEvents(statements, await nextRevision(statements, this.source, requestId), name)
    try {
      return await this.options.database.transaction(ask, { limit: end - performance.now() })
    } catch (cause) {
      throw uncertainty(cause)
    }
  }

  private open(since: number | undefined, signal: AbortSignal): Promise<StoredContents | undefined> {
    const { database } = this.options
    return openContents(database, (statements) => readPublished(statements, this.source, since), signal)
  }

  private get topic(): string {
    return JSON.stringify(['published', this.source])
  }
}

const uncertainty = (cause: unknown): UpstreamError =>
  new UpstreamError(
    'PUBLICATION_UNCERTAIN',
    'the connection to the database was lost during the commit: it may have been stored; ask for it before you send it again',
    { cause, statusCode: 503, retryAfter: 5 },
  )

/** Thrown to roll back a transaction that would raise the revision and change nothing. */
class NothingToStore extends Error {}

const published = ({ kind, payloads, revision }: StoredContents): PublishedContents => ({
  ...{ kind, payloads },
  revision: () => String(revision),
})

/** Runs after the insert: a version beyond a limit is rolled back. */
async function checkRoom(
  statements: Statements,
  source: PublishedSource,
  version: VersionKey,
  actor: PublicationActor,
  { maxVersions, maxBytes = Infinity, maxBytesOfActor = Infinity }: PublicationLimits,
): Promise<void> {
  if ((await countVersions(statements, source, version.name)) > maxVersions)
    throw tooManyVersions(version, maxVersions)
  if (maxBytesOfActor < Infinity && (await heldBytes(statements, source, actor)) > maxBytesOfActor)
    throw publisherFull(maxBytesOfActor)
  if (maxBytes < Infinity && (await heldBytes(statements, source)) > maxBytes) throw sourceFull(maxBytes)
}

// The copy is written as a whole: one write covers publications in quick succession.
const PAUSE = 1_000
// A full disk may soon have room again, while the next publication may be weeks away.
const RETRY = 10_000

/** A copy on this machine, for a start while the database is away. */
class PublishedCopy {
  private readonly stopping = new AbortController()
  private renewing: Promise<void> | undefined
  private isDue = false

  constructor(
    private readonly file: SqliteSource,
    private readonly whole: (signal: AbortSignal) => Promise<StoredContents | undefined>,
    private readonly failed: (error: unknown) => void,
  ) {}

  read(signal: AbortSignal): Promise<StoredContents | undefined> {
    return this.file.read(undefined, signal)
  }

  /** Schedules a write of the copy after a change. */
  renew(): void {
    this.isDue = true
    this.renewing ??= this.renewAll()
  }

  async close(): Promise<void> {
    this.stopping.abort(new Error('the gateway is stopping'))
    await this.renewing
  }

  private async renewAll(): Promise<void> {
    const { signal } = this.stopping
    let hasFailed = false
    while (this.isDue && !signal.aborted) {
      try {
        await delay(hasFailed ? RETRY : PAUSE, undefined, { signal, ref: false })
        this.isDue = false
        await this.save(signal)
        hasFailed = false
      } catch (error) {
        if (!signal.aborted && !hasFailed) this.failed(error)
        hasFailed = true
        this.isDue = true
      }
    }
    this.renewing = undefined
  }

  private async save(signal: AbortSignal): Promise<void> {
    const contents = await this.whole(signal)
    if (contents === undefined) return
    const all: StoredDocument[] = []
    for await (const payload of contents.payloads)
      all.push({ name: '', version: `${all.length}`, document: payload })
    const { revision } = contents
    await this.file.save({ all, bookmark: String(revision) }, revision, signal)
  }
}
