import type { HealthState, Log } from 'sallyport'
import type { DatabaseError } from '#plugins/store/sqlite/database.js'

const RETRY = 2_000

/** A write that the disk refused. */
interface UnsavedValue {
  /** `undefined` for a deletion. */
  readonly value: string | undefined
  readonly expiresAt: number | undefined
  /** The stored write before this one, if known. Any other stored write is newer, from another process. */
  readonly previous: number | undefined | typeof UNKNOWN
}

export const UNKNOWN = Symbol('unknown')

/** The values that the disk refused, and the reason. They outlive a reload. */
export class UnsavedWrites {
  readonly values = new Map<string, UnsavedValue>()
  reason: string | undefined
}

interface Dependencies {
  readonly path: string
  readonly writes: UnsavedWrites
  readonly log: Pick<Log, 'error' | 'info'>
  /** Writes the value of this key. */
  readonly save: (key: string) => Promise<void>
  /** Throws while the disk refuses writes. */
  readonly probe: () => Promise<void>
}

/** Values that the disk refused: this process uses them, and retries until they are written. */
export class UnsavedValues {
  private timer: NodeJS.Timeout | undefined
  private retrying: Promise<void> | undefined
  private stopped = false

  constructor(private readonly dependencies: Dependencies) {
    if (this.writes.reason !== undefined) this.schedule()
  }

  /** The value of a key, while it is the newest. */
  get(key: string, stored: number | undefined | typeof UNKNOWN): UnsavedValue | undefined {
    const unsaved = this.writes.values.get(key)
    if (unsaved === undefined) return undefined
    const { previous, expiresAt = Number.POSITIVE_INFINITY } = unsaved
    if (stored !== previous && stored !== UNKNOWN && previous !== UNKNOWN) this.delete(key)
    else return expiresAt > Date.now() ? unsaved : { ...unsaved, value: undefined }
    return undefined
  }

  has(key: string): boolean {
    return this.writes.values.has(key)
  }

  get keys(): readonly string[] {
    return [...this.writes.values.keys()]
  }

  add(key: string, unsaved: UnsavedValue, error: DatabaseError): void {
    const { previous } = this.writes.values.get(key) ?? unsaved
    this.writes.values.set(key, { ...unsaved, previous })
    this.failed(error)
  }

  delete(key: string): void {
    this.writes.values.delete(key)
  }

  health(): HealthState {
    const { reason } = this.writes
    return reason === undefined
      ? { status: 'ok' }
      : { status: 'degraded', reason: `values cannot be saved: ${reason}` }
  }

  /** Logs the first failure, until values can be saved again. */
  failed({ failure: { reason } }: DatabaseError): void {
    const { path, log, writes } = this.dependencies
    if (writes.reason === undefined) {
      log.error(
        { path, reason },
        'values cannot be saved: they last as long as this process, and other processes do not see them and may refresh the same login',
      )
    }
    writes.reason = reason
    this.schedule()
  }

  /** Retries one last time before the values are lost. */
  async stop(): Promise<void> {
    this.stopped = true
    clearTimeout(this.timer)
    await this.retrying
    if (this.writes.values.size > 0) await this.retry()
  }

  private get writes(): UnsavedWrites {
    return this.dependencies.writes
  }

  private schedule(): void {
    if (this.timer !== undefined || this.stopped) return
    this.timer = setTimeout(() => {
      this.retrying = this.retry().finally(() => {
        this.timer = undefined
        if (this.writes.reason !== undefined) this.schedule()
      })
    }, RETRY).unref()
  }

  private async retry(): Promise<void> {
    const { path, log, save, probe, writes } = this.dependencies
    try {
      await probe()
      for (const key of this.keys) await save(key)
    } catch {
      // The failure is logged already.
      return
    }
    // The previous list may have saved the values already.
    if (writes.values.size > 0 || writes.reason === undefined) return
    writes.reason = undefined
    log.info({ path }, 'values are saved again')
  }
}
