import { lstatSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import type { Log } from 'sallyport'
import { DatabaseError } from './database.js'
import { failureOf, resultCode } from './failure.js'
import { connect, createFile } from './open-file.js'

const POLL_INTERVAL = 20
const WARN_AFTER = 3_000
const BUSY = 5
const CANNOT_OPEN = 14
const ATTEMPTS = 3

/** A lock of this process, until it is released. */
export interface HeldLock {
  release(): void
}

/**
 * A lock across processes: a transaction on an empty SQLite file. The kernel frees it when the process ends, also by a
 * kill. A release deletes the file. Every step takes well under a millisecond and waits for no sync, so no thread is
 * needed.
 */
export class FileLock {
  constructor(
    private readonly path: string,
    private readonly log: Pick<Log, 'warn'>,
  ) {}

  /** Waits for the lock. Throws a `DatabaseError` when its file cannot be used. */
  async acquire(): Promise<HeldLock> {
    const since = performance.now()
    let isWarned = false
    for (;;) {
      const held = this.tryAcquire()
      if (held !== undefined) return held
      if (!isWarned && performance.now() - since > WARN_AFTER) {
        isWarned = true
        this.log.warn({ path: this.path }, 'waiting for a lock that another process holds')
      }
      await setTimeout(POLL_INTERVAL * (1 + Math.random()))
    }
  }

  /** Returns undefined while another process holds the lock. The folder must exist. */
  tryAcquire(attempts = ATTEMPTS): HeldLock | undefined {
    let database: DatabaseSync | undefined
    let before: string | undefined
    try {
      createFile(this.path)
      before = this.identity()
      if (before === undefined) return undefined
      database = connect(this.path, 0)
      // The transaction writes nothing, and needs no journal beside the file.
      database.exec('pragma journal_mode = memory; begin immediate')
      const opened = database
      // The previous holder has deleted the file, and another process may have created it again.
      if (before === this.identity()) return { release: () => this.release(opened, before) }
      opened.close()
      return undefined
    } catch (error) {
      database?.close()
      if (resultCode(error) === BUSY || (before !== undefined && before !== this.identity())) return undefined
      // A file deleted and created again within one tick of the file system's clock may have the same number and time.
      if (resultCode(error) === CANNOT_OPEN && attempts > 1) return this.tryAcquire(attempts - 1)
      throw new DatabaseError(this.path, failureOf(error))
    }
  }

  /** Deletes the file before another process can have the lock. */
  private release(database: DatabaseSync, own: string | undefined): void {
    // Windows deletes no open file: there the file stays, and the next holder uses it again.
    if (own === this.identity() && process.platform !== 'win32') rmSync(this.path, { force: true })
    database.close()
  }

  /** The file system soon reuses the number of a file; the time of the last change distinguishes the files. */
  private identity(): string | undefined {
    const found = lstatSync(this.path, { bigint: true, throwIfNoEntry: false })
    return found && `${found.dev} ${found.ino} ${found.ctimeNs}`
  }
}
