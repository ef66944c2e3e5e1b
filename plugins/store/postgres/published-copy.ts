import { setTimeout } from 'node:timers/promises'
import type { StoredContents, StoredDocument } from 'sallyport'
import type { SqliteSource } from '../sqlite/sqlite-sources.js'

// It is written as a whole: what is published in quick succession is written once.
const PAUSE = 1_000
// A full disk may have room again soon, and nobody may publish for weeks.
const RETRY = 10_000

/** A copy on this machine, for a start while the database is away. */
export class PublishedCopy {
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

  /** Writes it soon: something has changed. */
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
        await setTimeout(hasFailed ? RETRY : PAUSE, undefined, { signal, ref: false })
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
      all.push({ name: '', version: `${all.length}`, parts: [payload] })
    const { revision } = contents
    await this.file.save({ all, bookmark: String(revision) }, revision, signal)
  }
}
