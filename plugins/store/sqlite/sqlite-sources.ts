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
import { bytesOf } from '../text-bytes.js'
import type { CatalogueDocument, CatalogueWrite, SourceKey } from './catalogue-tables.js'
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

/** So many documents are copied to the thread of the database at once: no request waits for more. */
const BATCH = 200

/** The last good state of one source. Each place has its own: the state of one is never served as that of another. */
export class SqliteSource implements SourceStore {
  private readonly key: SourceKey

  constructor(
    private readonly database: Database<'catalogue'>,
    { name, place }: SourceName,
  ) {
    this.key = [bytesOf(name), bytesOf(place)]
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

  /** Replaces everything. `revision`: of a store that has the state, too. */
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
      for (const batch of batchesOf(documents)) {
        await this.database.call('add', write, batch)
        // Requests are answered in between.
        await setImmediate(undefined, { signal })
      }
      signal.throwIfAborted()
      await this.database.call('write', write, this.key, change)
    } finally {
      await this.database.call('discard', write)
    }
  }
}

function* batchesOf(documents: Iterable<StoredDocument>): Generator<readonly CatalogueDocument[]> {
  let batch: CatalogueDocument[] = []
  for (const { name, version, parts } of documents) {
    batch.push({ name: bytesOf(name), version: bytesOf(version), document: Buffer.concat(parts) })
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
