import type { HealthState, Log } from 'sallyport'

const RETRY = 2_000

/** A write that failed. */
interface PendingWrite {
  /** `undefined` for a deletion. */
  readonly value: string | undefined
  /** The content of the file when the write failed, if it could be read. Any other content is newer, of another process. */
  readonly previous: string | undefined | typeof UNKNOWN
}

const UNKNOWN = Symbol('unknown')

/** Values that are not saved, and why. They outlive a reload. */
export class UnsavedValues {
  readonly writes = new Map<string, PendingWrite>()
  reason: string | undefined
}

interface Dependencies {
  readonly directory: string
  readonly unsaved: UnsavedValues
  readonly log: Pick<Log, 'error' | 'info'>
  /** The content of the file of a key. */
  readonly textOf: (key: string) => Promise<string | undefined>
  /** Writes the pending value of this key. */
  readonly save: (key: string) => Promise<void>
  /** Throws while files cannot be written. */
  readonly probe: () => Promise<void>
}

/** Values that could not be written to disk: this process uses them, and retries until they are written. */
export class PendingWrites {
  private timer: NodeJS.Timeout | undefined
  private retrying: Promise<void> | undefined
  private stopped = false

  constructor(private readonly dependencies: Dependencies) {
    if (this.unsaved.reason !== undefined) this.schedule()
  }

  /** The pending write of a key, while it is the newest. */
  async get(key: string): Promise<PendingWrite | undefined> {
    const pending = this.pending.get(key)
    if (pending === undefined) return undefined
    const stored = await this.dependencies.textOf(key).catch(() => pending.previous)
    if (stored === pending.previous || pending.previous === UNKNOWN) return pending
    this.pending.delete(key)
    return undefined
  }

  private get unsaved(): UnsavedValues {
    return this.dependencies.unsaved
  }

  private get pending(): UnsavedValues['writes'] {
    return this.unsaved.writes
  }

  get keys(): readonly string[] {
    return [...this.pending.keys()]
  }

  async add(key: string, value: string | undefined, error: NodeJS.ErrnoException): Promise<void> {
    const { textOf } = this.dependencies
    const { previous } = this.pending.get(key) ?? { previous: await textOf(key).catch(() => UNKNOWN) }
    this.pending.set(key, { value, previous })
    this.recordFailure(error)
  }

  delete(key: string): void {
    this.pending.delete(key)
  }

  health(): HealthState {
    if (this.unsaved.reason === undefined) return { status: 'ok' }
    return { status: 'degraded', reason: `values cannot be saved (${this.unsaved.reason})` }
  }

  /** Logs the first failure, until files can be written again. */
  recordFailure({ code = 'unknown' }: NodeJS.ErrnoException): void {
    const { directory, log } = this.dependencies
    if (this.unsaved.reason === undefined) {
      log.error(
        { directory, reason: code },
        'values cannot be saved: they last as long as this process, and other processes do not see them and may refresh the same login',
      )
    }
    this.unsaved.reason = code
    this.schedule()
  }

  /** Tries a last time, since pending values would be lost. */
  async stop(): Promise<void> {
    this.stopped = true
    clearTimeout(this.timer)
    await this.retrying
    if (this.pending.size > 0) await this.retry()
  }

  private schedule(): void {
    if (this.timer !== undefined || this.stopped) return
    this.timer = setTimeout(() => {
      this.retrying = this.retry().finally(() => {
        this.timer = undefined
        if (this.unsaved.reason !== undefined) this.schedule()
      })
    }, RETRY).unref()
  }

  private async retry(): Promise<void> {
    const { directory, log, save, probe } = this.dependencies
    try {
      await probe()
      for (const key of this.keys) await save(key)
    } catch {
      // It is logged already.
      return
    }
    // The list before may have been faster.
    if (this.pending.size > 0 || this.unsaved.reason === undefined) return
    this.unsaved.reason = undefined
    log.info({ directory }, 'values are saved again')
  }
}
