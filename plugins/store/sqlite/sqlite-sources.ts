import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type {
  CatalogueStore,
  ContentsChange,
  Gateway,
  SourceStore,
  StoredContents,
  StoredDocument,
} from 'sallyport'
import { userFolder } from 'sallyport/toolkit'
import { bytesOf, joined } from '../bytes.js'
import type { CatalogueWrite, SourceKey } from './catalogue-tables.js'
import { Database } from './database.js'

type SourceName = Parameters<CatalogueStore['open']>[0]

/** Opens the last good state of each source, in a directory or in that of the user. A reload keeps the database. */
export function openSources(gateway: Gateway, directory: string | undefined) {
  const path = join(directory ?? registryFolder(), 'catalogue.sqlite')
  const database = gateway.share(
    `database ${path}`,
    () => new Database(path, 'catalogue'),
    (shared) => shared.close(),
  )
  return { open: (source: SourceName) => new SqliteSource(database, source) }
}

export const registryFolder = (): string => join(userFolder('state', process.env), 'registry')

/** Bytes copied at once for the database thread: requests wait no longer than for this. */
const BATCH = 256 * 1024

/** The last good state of one source. Each location has its own state, never served for another location. */
export class SqliteSource implements SourceStore {
  private readonly key: SourceKey

  constructor(
    private readonly database: Database<'catalogue'>,
    { name, location }: SourceName,
  ) {
    this.key = [bytesOf(name), bytesOf(location)]
  }

  async read(since: number | undefined, signal: AbortSignal): Promise<StoredContents | undefined> {
    if (since !== undefined) return undefined
    const found = await this.database.call('read', this.key)
    signal.throwIfAborted()
    return found && { kind: 'whole', handedOver: true, ...found }
  }

  async write(change: ContentsChange, signal: AbortSignal): Promise<number> {
    const { all, changed, bookmark, replaces = false } = change
    const removed = [...change.removed].map(({ name, version }) => ({
      name: bytesOf(name),
      version: bytesOf(version),
    }))
    await this.store(replaces ? all : changed, { replaces, removed, bookmark, revision: 0 }, signal)
    return 0
  }

  /** Replaces everything. `revision`: the revision of a shared store that has the same state. */
  save(
    { all, bookmark }: Pick<ContentsChange, 'all' | 'bookmark'>,
    revision: number,
    signal: AbortSignal,
  ): Promise<void> {
    return this.store(all, { replaces: true, removed: [], bookmark, revision }, signal)
  }

  private async store(
    documents: Iterable<StoredDocument>,
    change: CatalogueWrite,
    signal: AbortSignal,
  ): Promise<void> {
    const write = randomUUID()
    try {
      for (const { bytes, lengths } of batchesOf(documents)) {
        await this.database.call('add', write, bytes, lengths)
        // Lets the event loop answer requests in between.
        await setImmediate(undefined, { signal })
      }
      signal.throwIfAborted()
      await this.database.call('write', write, this.key, change)
    } catch (error) {
      await this.database.call('discard', write)
      throw error
    }
  }
}

interface Batch {
  readonly bytes: ArrayBuffer
  /** The bytes of name, version, document, name and so on. */
  readonly lengths: readonly number[]
}

function* batchesOf(documents: Iterable<StoredDocument>): Generator<Batch> {
  let parts: Uint8Array[] = []
  let lengths: number[] = []
  let size = 0
  for (const { name, version, document } of documents) {
    for (const field of [bytesOf(name), bytesOf(version), document]) {
      parts.push(field)
      lengths.push(field.length)
      size += field.length
    }
    if (size < BATCH) continue
    yield { bytes: joined(parts).buffer, lengths }
    parts = []
    lengths = []
    size = 0
  }
  if (size > 0) yield { bytes: joined(parts).buffer, lengths }
}
