import { randomBytes } from 'node:crypto'
import {
  type PublicationActor,
  type PublicationEvent,
  type PublicationState,
  type Publications,
  type PublishedContents,
  type StoredContents,
  UpstreamError,
  type VersionKey,
} from 'sallyport'
import type { Database, Statements } from '../database/database.js'
import { tooSlow } from '../database/failure.js'
import { Semaphore } from '../database/semaphore.js'
import { READ_LIMIT, WRITE_LIMIT } from '../database/transaction.js'
import {
  ACTIVE,
  checkServer,
  publishEvent,
  statusEvents,
  tooManyVersions,
  versionExists,
  versionUnknown,
} from '../publications/publication.js'
import type { SqliteSource } from '../sqlite/sqlite-sources.js'
import { batches } from './batches.js'
import { openContents } from './open-contents.js'
import {
  countVersions,
  findEvents,
  findPublisher,
  findVersions,
  hasEvents,
  insertEvents,
  insertVersion,
  nextRevision,
  type PublishedSource,
  updateStates,
} from './publication-rows.js'
import { PublishedCopy } from './published-copy.js'
import { readPublished } from './read-published.js'

interface Options {
  readonly database: Database
  /** On this machine. */
  readonly copy: SqliteSource | undefined
  readonly copyFailed: (error: unknown) => void
}

type Work<T> = (statements: Statements, source: PublishedSource) => Promise<T>

/** What is published in one source, in the database. */
export class PostgresPublications implements Publications {
  // Those of a source wait for each other in the database: here they take no connection meanwhile.
  private readonly writes = new Semaphore(1)
  private readonly copy: PublishedCopy | undefined

  constructor(
    readonly place: string,
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
    { maxVersions }: { readonly maxVersions: number },
  ): Promise<PublicationEvent> {
    checkServer(version.server)
    return this.write(version.name, async (statements, source) => {
      const { name } = version
      if (!(await insertVersion(statements, source, version, ACTIVE))) throw versionExists(version)
      if ((await countVersions(statements, source, name)) > maxVersions)
        throw tooManyVersions(version, maxVersions)
      const event = publishEvent(version, actor, source.at)
      await insertEvents(statements, source, event, [event])
      return event
    })
  }

  async setStatus(
    target: { readonly name: string; readonly version?: string | undefined },
    state: PublicationState,
    actor: PublicationActor,
  ): Promise<readonly PublicationEvent[]> {
    const work = async (statements: Statements, source: PublishedSource): Promise<PublicationEvent[]> => {
      const versions = await findVersions(statements, source, target)
      if (versions.length === 0) throw versionUnknown(target)
      const changed = statusEvents(versions, state, actor, source.at)
      const events = changed.map(([, event]) => event)
      const [first] = events
      if (first === undefined) throw new NothingToStore()
      // A statement for each would take longer than a write may.
      for (const batch of batches(changed, () => 0)) {
        const [stored, happened] = [batch.map(([version]) => version), batch.map(([, event]) => event)]
        await updateStates(statements, source, target.name, stored, first.after)
        await insertEvents(statements, source, first, happened)
      }
      return events
    }
    return this.write(target.name, work).catch((error: unknown) => {
      if (error instanceof NothingToStore) return []
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

  /** All of `work`, or nothing when it throws. It is answered when the commit is known. */
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
      // What is left is for asking whether it was stored.
      const limit = end - performance.now() - READ_LIMIT
      return await database.transaction(transaction, { limit, uncertain })
    } catch (error) {
      if (!isUncertain || done === undefined) throw error
      if (await this.isStored(name, requestId, end)) return done.result
      throw error
    }
  }

  /** Asked once, after a commit whose answer was lost. */
  private async isStored(name: string, requestId: Buffer, end: number): Promise<boolean> {
    // The lock of the source waits for the end of that transaction, which may still be under way.
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

/** Ends a transaction that would raise the revision and change nothing. */
class NothingToStore extends Error {}

const published = ({ kind, payloads, revision }: StoredContents): PublishedContents => ({
  ...{ kind, payloads },
  revision: () => String(revision),
})
