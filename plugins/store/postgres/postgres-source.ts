import type { ContentsChange, SharedSource, SourceStore, StoredContents } from 'sallyport'
import type { Database, Lock, Statements, TransactionOptions } from '../database/database.js'
import { lockLost } from '../database/failure.js'
import type { SqliteSource } from '../sqlite/sqlite-sources.js'
import { CONTENTS_LIMIT, openContents } from './open-contents.js'
import {
  keepPlace,
  readContents,
  reportSync,
  requestSync,
  type SourceKey,
  takeSyncRequest,
  writeContents,
} from './source-rows.js'

export interface PostgresSourceOptions {
  readonly database: Database
  /** The copy on this machine. */
  readonly copy: SqliteSource | undefined
  /** Called when this process has confirmed that its contents are the newest. */
  readonly isCurrent: (revision: number) => void
  /** Milliseconds after which the process notices a lost notification; 30 s by default. */
  readonly longestPoll?: number
}

/** A source whose contents are in the database. */
export class PostgresSource implements SourceStore, SharedSource {
  readonly shared: SharedSource = this
  /** The revision of this process's contents. */
  private revision = 0
  /** Set while this process leads. */
  private lock: Lock | undefined
  private lookForRequest = (): void => {}

  constructor(
    private readonly key: SourceKey,
    private readonly options: PostgresSourceOptions,
  ) {}

  async read(since: number | undefined, signal: AbortSignal): Promise<StoredContents | undefined> {
    this.revision = since ?? 0
    const { database, copy } = this.options
    const read = (statements: Statements) => readContents(statements, this.key, since)
    try {
      const contents = await openContents(database, read, signal)
      if (contents !== undefined) return whenRead(contents, (revision) => this.isCurrent(revision))
      this.isCurrent(this.revision)
      return undefined
    } catch (error) {
      if (signal.aborted || since !== undefined) throw error
      const copied = await copy?.read(undefined, signal)
      if (copied === undefined) throw error
      return whenRead(copied, (revision) => {
        this.revision = revision
      })
    }
  }

  async write(change: ContentsChange, signal: AbortSignal): Promise<number> {
    const base = change.replaces === true ? 0 : this.revision
    const work = (statements: Statements) => writeContents(statements, this.key, base, change)
    const revision = await this.asLeader(work, { limit: CONTENTS_LIMIT, signal })
    this.isCurrent(revision)
    return revision
  }

  lead(work: (signal: AbortSignal) => void): () => Promise<void> {
    return this.options.database.lead(this.topic('lead'), (lock) => {
      this.lock = lock
      this.lookForRequest()
      work(lock.signal)
    })
  }

  watch(changed: () => void): () => void {
    return this.wokenBy('changed', changed)
  }

  async report(failure: string | undefined, signal: AbortSignal): Promise<void> {
    const work = (statements: Statements) => reportSync(statements, this.key, this.revision, failure)
    this.isCurrent(await this.asLeader(work, { signal }))
  }

  async requestSync(): Promise<void> {
    const { database } = this.options
    await database.transaction(async (statements) => {
      await requestSync(statements, this.key)
      await database.notify(statements, this.topic('sync'))
    })
  }

  onSyncRequest(requested: () => void): () => void {
    const take = async (statements: Statements): Promise<boolean> => {
      await keepPlace(statements, this.key)
      return takeSyncRequest(statements, this.key)
    }
    this.lookForRequest = () => {
      if (this.lock === undefined || this.lock.signal.aborted) return
      this.lock.transaction(take).then(
        (found) => found && requested(),
        () => {},
      )
    }
    return this.wokenBy('sync', () => this.lookForRequest())
  }

  async saveCopy(...given: Parameters<SharedSource['saveCopy']>): Promise<void> {
    await this.options.copy?.save(...given)
  }

  /** Notifies all processes of the write once it is committed. A former leader's write fails. */
  private async asLeader<T>(
    work: (statements: Statements) => Promise<T>,
    options: TransactionOptions,
  ): Promise<T> {
    const { lock } = this
    if (lock === undefined || lock.signal.aborted) throw lockLost()
    return lock.transaction(async (statements) => {
      const result = await work(statements)
      await this.options.database.notify(statements, this.topic('changed'))
      return result
    }, options)
  }

  private isCurrent(revision: number): void {
    this.revision = revision
    this.options.isCurrent(revision)
  }

  private wokenBy(event: string, wake: () => void): () => void {
    const { database, longestPoll } = this.options
    return database.listen(this.topic(event), wake, longestPoll)
  }

  private topic(event: string): string {
    return JSON.stringify([event, this.key.name, this.key.location])
  }
}

/** A revision counts only after its payloads were read to the end. */
function whenRead(contents: StoredContents, read: (revision: number) => void): StoredContents {
  const { payloads, revision } = contents
  const each = async function* (): AsyncGenerator<Uint8Array> {
    yield* payloads
    read(revision)
  }
  return { ...contents, payloads: each() }
}
