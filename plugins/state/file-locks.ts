import { AsyncLocalStorage } from 'node:async_hooks'
import { type Log, UpstreamError } from 'sallyport'
import { isFileSystemError } from '#plugins/store/files/atomic-file.js'
import { GenerationLock, type HeldLock, type HeldLocks } from '#plugins/store/files/generation-lock.js'
import type { LockOwner } from '#plugins/store/files/lock-owner.js'
import { Turns } from '#plugins/store/turns.js'

interface Dependencies {
  readonly self: LockOwner
  readonly locks: HeldLocks
  readonly log: Pick<Log, 'warn'>
  /** Told why no lock file could be created. */
  readonly failed: (error: NodeJS.ErrnoException) => void
}

interface Held {
  readonly lock: HeldLock
  isReleased: boolean
}

/** Locks across processes in files. Whoever stands still for long loses them, so a write under one is checked. */
export class FileLocks {
  private readonly turns = new Turns()
  private readonly held = new AsyncLocalStorage<readonly Held[]>()

  constructor(private readonly dependencies: Dependencies) {}

  /** Queued within this process, so that only one of its waiters polls the lock files. */
  locked<T>(path: string, work: () => Promise<T>): Promise<T> {
    return this.turns.run(path, () => this.withLock(path, work))
  }

  /** Throws when a lock was lost under which the calling code runs. What outlives its work, such as a timer, has none. */
  async check(): Promise<void> {
    for (const { lock, isReleased } of this.held.getStore() ?? []) {
      if (isReleased) continue
      await lock.check().catch((error: unknown) => {
        if (!isFileSystemError(error)) throw lockLost(error)
      })
    }
  }

  private async withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
    const { self, locks, log, failed } = this.dependencies
    const lock = await new GenerationLock(path, self, locks, log).acquire().catch((error: unknown) => {
      if (!isFileSystemError(error)) throw error
      // No other process can create a lock here either, and losing a login is worse than refreshing it twice.
      failed(error)
    })
    if (lock === undefined) return work()
    const held: Held = { lock, isReleased: false }
    try {
      return await this.held.run([...(this.held.getStore() ?? []), held], work)
    } finally {
      held.isReleased = true
      await lock.release()
    }
  }
}

/** Another process may have written since. */
const lockLost = (cause: unknown): UpstreamError =>
  new UpstreamError('STATE_LOCK_LOST', 'the lock of a stored value was lost, so nothing was written', {
    cause,
    statusCode: 503,
    retryAfter: 5,
  })
