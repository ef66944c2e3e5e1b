import {
  GatewayError,
  type HealthState,
  type Log,
  type PublicationActor,
  type PublicationEvent,
  type PublicationState,
  type Publications,
  type PublishedContents,
  UpstreamError,
  type VersionKey,
} from 'sallyport'
import { messageOf } from 'sallyport/toolkit'
import {
  checkServer,
  payloadOf,
  publishEvent,
  statusEvents,
  tooManyVersions,
  versionExists,
  versionUnknown,
} from '../publications/publication.js'
import { type JournalChange, lineOf, parseChange } from './journal-line.js'
import { type OpenJournal, warnOfFuture } from './open-journal.js'
import type { IndexedVersion } from './publication-index.js'

/** What is to be stored: nothing when all is as it should be. It is called when no write is under way. */
type Decide = (at: string) => Omit<JournalChange, 'number'> | undefined

interface Waiting {
  readonly name: string
  readonly decide: Decide
  readonly resolve: (events: readonly PublicationEvent[]) => void
  readonly reject: (error: unknown) => void
}

const CHECK_EVERY = 2_000
const STOPPING = 'the publication was not stored: the gateway is stopping'

/** What is published in one source, in a journal of this process. Those who publish at once share one write. */
export class FilePublications implements Publications {
  private readonly watchers = new Set<() => void>()
  private waiting: Waiting[] = []
  private writing: Promise<void> | undefined
  private isClosed = false
  /** Why the last write failed, or the next one will. */
  private fault: string | undefined
  /** Whether it is where the file is: that may be mended before anybody writes. */
  private isMisplaced = false
  private readonly timer = setInterval(() => void this.check(), CHECK_EVERY).unref()

  constructor(
    private readonly journal: OpenJournal,
    private readonly log: Pick<Log, 'warn' | 'error'>,
  ) {}

  get place(): string {
    return `journal ${this.journal.file.path}`
  }

  async read(since: string | undefined, signal: AbortSignal): Promise<PublishedContents> {
    const { index } = this.journal
    const { revision } = index
    const known = since === undefined ? Number.NaN : Number(since)
    const isKnown = Number.isInteger(known) && known >= 0 && known <= revision
    const versions = [...(isKnown ? index.since(known) : index.all())]
    const kind = !isKnown ? 'whole' : versions.length === 0 ? 'unchanged' : 'changes'
    return { kind, payloads: this.payloads(versions, signal), revision: () => String(revision) }
  }

  watch(changed: () => void): () => void {
    // An object of its own: the same function may be given twice.
    const watcher = (): void => changed()
    this.watchers.add(watcher)
    return () => void this.watchers.delete(watcher)
  }

  async publish(
    { name, version, server }: VersionKey & { readonly server: Uint8Array },
    actor: PublicationActor,
    { maxVersions }: { readonly maxVersions: number },
  ): Promise<PublicationEvent> {
    checkServer(server)
    const text = Buffer.from(server).toString()
    const { index } = this.journal
    const [event] = await this.store(name, (at) => {
      const versions = index.versionsOf(name)
      if (versions.has(version)) throw versionExists({ name, version })
      if (versions.size >= maxVersions) throw tooManyVersions({ name, version }, maxVersions)
      return { events: [publishEvent({ name, version }, actor, at)], server: text }
    })
    if (event === undefined) throw new TypeError('a publication is one event')
    return event
  }

  setStatus(
    target: { readonly name: string; readonly version?: string | undefined },
    state: PublicationState,
    actor: PublicationActor,
  ): Promise<readonly PublicationEvent[]> {
    const { name, version: wanted } = target
    return this.store(name, (at) => {
      const versions = [...this.journal.index.versionsOf(name).values()]
      const meant = versions.filter(({ version }) => wanted === undefined || version === wanted)
      if (meant.length === 0) throw versionUnknown(target)
      const events = statusEvents(meant, state, actor, at).map(([, event]) => event)
      return events.length === 0 ? undefined : { events }
    })
  }

  async history(name: string, limit: number): Promise<readonly PublicationEvent[]> {
    return this.journal.index.historyOf(name, limit)
  }

  async publisher({ name, version }: VersionKey): Promise<PublicationActor | undefined> {
    return this.journal.index.versionsOf(name).get(version)?.publisher
  }

  health(): HealthState {
    return this.fault === undefined ? { status: 'ok' } : { status: 'degraded', reason: this.fault }
  }

  /** After what is under way. */
  async close(): Promise<void> {
    this.isClosed = true
    clearInterval(this.timer)
    await this.writing
    await this.journal.file.close()
    await this.journal.lock.release()
  }

  private async *payloads(
    versions: readonly IndexedVersion[],
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    const { file } = this.journal
    for await (const [version, line] of file.readEach(versions, ({ published }) => published)) {
      signal.throwIfAborted()
      yield payloadOf(version, Buffer.from(changeIn(line, file.path).server ?? ''))
    }
  }

  private store(name: string, decide: Decide): Promise<readonly PublicationEvent[]> {
    if (this.isClosed) throw new UpstreamError('JOURNAL_UNWRITABLE', STOPPING, { statusCode: 503 })
    return new Promise((resolve, reject) => {
      this.waiting.push({ name, decide, resolve, reject })
      this.writing ??= this.writeAll()
    })
  }

  private async writeAll(): Promise<void> {
    try {
      // Whoever comes in this turn of the event loop is in the first write.
      await Promise.resolve()
      while (this.waiting.length > 0) {
        // One change of each name: what is decided about a name never depends on a write that may still fail.
        const batch = new Map<string, Waiting>()
        for (const each of this.waiting) if (!batch.has(each.name)) batch.set(each.name, each)
        this.waiting = this.waiting.filter((each) => batch.get(each.name) !== each)
        await this.write([...batch.values()])
      }
    } finally {
      // Not in a later turn: whoever publishes before that would wait for ever.
      this.writing = undefined
    }
  }

  private async write(batch: readonly Waiting[]): Promise<void> {
    const { index, file, lock } = this.journal
    const now = new Date().toISOString()
    const at = now < index.lastAt ? index.lastAt : now
    warnOfFuture(index.lastAt, this.log)
    const prepared: { readonly each: Waiting; readonly change: JournalChange; readonly line: Buffer }[] = []
    for (const each of batch) {
      try {
        const decided = each.decide(at)
        if (decided === undefined) each.resolve([])
        else {
          const change = { number: index.revision + prepared.length + 1, ...decided }
          prepared.push({ each, change, line: lineOf(change) })
        }
      } catch (error) {
        each.reject(error)
      }
    }
    if (prepared.length === 0) return
    try {
      let start = await file.append(Buffer.concat(prepared.map(({ line }) => line)), () => lock.check())
      for (const { change, line } of prepared) {
        index.add(change, { start, length: line.length })
        start += line.length
      }
    } catch (error) {
      this.fault = messageOf(error)
      this.isMisplaced = await file.check().then(
        () => false,
        () => true,
      )
      for (const { each } of prepared) each.reject(error)
      return
    }
    this.fault = undefined
    for (const { each, change } of prepared) each.resolve(change.events)
    for (const changed of this.watchers) this.wake(changed)
  }

  private wake(changed: () => void): void {
    try {
      changed()
    } catch (err) {
      this.log.error({ err }, 'what follows the publications failed')
    }
  }

  /** Whether the file is there, also while nobody writes. */
  private async check(): Promise<void> {
    const fault = await this.journal.file.check().then(
      () => undefined,
      (error: Error) => error.message,
    )
    // A write that failed for another reason has told why.
    if (fault === undefined && !this.isMisplaced) return
    this.fault = fault
    this.isMisplaced = fault !== undefined
  }
}

function changeIn(line: Buffer, path: string): JournalChange {
  const change = parseChange(line)
  if (change !== undefined) return change
  throw new GatewayError('JOURNAL_DAMAGED', `${path} is not as it was written: restore it from a backup`)
}
