import {
  CatalogueStore,
  type ContentsChange,
  definePlugin,
  type SharedSource,
  type SourceStore,
  type StoredContents,
  type StoredDocument,
  type VersionKey,
} from 'sallyport'

interface Row extends VersionKey {
  readonly revision: number
  /** Undefined for a removed document. */
  readonly text: string | undefined
}

interface Candidate {
  readonly work: (signal: AbortSignal) => void
  leading: AbortController | undefined
}

class StoredSource {
  revision = 0
  bookmark: string | undefined
  failure: string | undefined
  rows = new Map<string, Row>()
  /** Processes that want to lead; the first one leads. */
  queue: readonly Candidate[] = []
  readonly watchers = new Set<() => void>()
  readonly requests = new Set<() => void>()
}

const keyOf = ({ name, version }: VersionKey): string => JSON.stringify([name, version])
const textOf = ({ document }: StoredDocument): string => Buffer.from(document).toString('utf8')
const payloadOf = (rows: readonly Row[]): Uint8Array =>
  Buffer.from(`[${rows.map(({ text }) => text).join()}]`)

/** A store that several registries share, in memory. Each registry has its own plugin and its own copies. */
export class SharedStore {
  /** Why no registry can reach the store; undefined when they can. */
  unreachable: string | undefined
  /** The next write is stored, but its answer is lost. */
  losesAnswer = false
  readonly reads: (number | undefined)[] = []
  private readonly sources = new Map<string, StoredSource>()

  /** The store of one process. */
  plugin() {
    const copies = new Map<string, StoredContents>()
    return definePlugin({
      name: 'store/shared',
      api: 1,
      provides: [CatalogueStore],
      setup: (gateway) => gateway.provide(CatalogueStore, { open: (source) => this.open(source, copies) }),
    })
  }

  /** Ends the lead of the leader, as a lost connection does; the next process in the queue leads. */
  changeLeader(): void {
    for (const stored of this.sources.values()) {
      const [first, ...others] = stored.queue
      if (first === undefined) continue
      first.leading?.abort(new Error('this process leads no longer'))
      first.leading = undefined
      stored.queue = [...others, first]
      this.startLeader(stored)
    }
  }

  open(
    source: { readonly name: string; readonly location: string },
    copies: Map<string, StoredContents>,
  ): SourceStore {
    const key = JSON.stringify([source.name, source.location])
    const stored = this.sources.get(key) ?? new StoredSource()
    this.sources.set(key, stored)
    let led: Candidate | undefined
    const isLeading = (): void => {
      this.assertReachable()
      if (led?.leading === undefined) throw new Error('only the leader may write')
    }
    const shared: SharedSource = {
      lead: (work) => {
        const candidate: Candidate = { work, leading: undefined }
        led = candidate
        stored.queue = [...stored.queue, candidate]
        this.startLeader(stored)
        return async () => {
          stored.queue = stored.queue.filter((each) => each !== candidate)
          candidate.leading?.abort(new Error('this process steps down'))
          candidate.leading = undefined
          this.startLeader(stored)
        }
      },
      watch: (changed) => subscribed(stored.watchers, changed),
      onSyncRequest: (requested) => subscribed(stored.requests, requested),
      report: async (failure) => {
        isLeading()
        if (stored.failure === failure) return
        stored.failure = failure
        stored.revision++
        notify(stored.watchers)
      },
      requestSync: async () => {
        this.assertReachable()
        notify(stored.requests)
      },
      saveCopy: async ({ all, bookmark }, revision) => {
        const payloads = [Buffer.from(`[${[...all].map(textOf).join()}]`)]
        copies.set(key, { kind: 'whole', payloads, bookmark, revision })
      },
    }
    return {
      shared,
      read: async (since) => {
        if (this.unreachable !== undefined && since === undefined && copies.has(key)) return copies.get(key)
        this.assertReachable()
        this.reads.push(since)
        return contentsOf(stored, since)
      },
      write: async (change) => {
        isLeading()
        write(stored, change)
        notify(stored.watchers)
        if (!this.losesAnswer) return stored.revision
        this.losesAnswer = false
        throw new Error('the answer was lost')
      },
    }
  }

  private assertReachable(): void {
    if (this.unreachable !== undefined) throw new Error(this.unreachable)
  }

  private startLeader({ queue: [first] }: StoredSource): void {
    if (first === undefined || first.leading !== undefined) return
    first.leading = new AbortController()
    first.work(first.leading.signal)
  }
}

function contentsOf(
  { revision, bookmark, failure, rows }: StoredSource,
  since: number | undefined,
): StoredContents | undefined {
  if (revision === (since ?? 0)) return undefined
  const newer = [...rows.values()].filter((row) => row.revision > (since ?? 0))
  return {
    kind: since === undefined ? 'whole' : 'changes',
    payloads: [payloadOf(newer.filter(({ text }) => text !== undefined))],
    removed: newer.filter(({ text }) => text === undefined),
    revision,
    bookmark,
    failure,
  }
}

/** Writes all or nothing: a change that throws leaves the source as it was. */
function write(
  stored: StoredSource,
  { changed, removed, all, replaces = false, bookmark }: ContentsChange,
): void {
  const revision = stored.revision + 1
  const rows = new Map(stored.rows)
  for (const { name, version } of replaces ? stored.rows.values() : removed)
    rows.set(keyOf({ name, version }), { name, version, revision, text: undefined })
  for (const each of replaces ? all : changed)
    rows.set(keyOf(each), { name: each.name, version: each.version, revision, text: textOf(each) })
  Object.assign(stored, { revision, rows, bookmark, failure: undefined })
}

function subscribed(listeners: Set<() => void>, listener: () => void): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function notify(listeners: ReadonlySet<() => void>): void {
  for (const listener of listeners) setImmediate(listener)
}
