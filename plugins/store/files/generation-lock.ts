import { randomBytes } from 'node:crypto'
import { access, link, readdir, readFile, stat, truncate, unlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Log } from 'sallyport'
import { isFileSystemError, replaceFile, writeDraft } from './atomic-file.js'
import { hasExited, isRunning, type LockOwner, parseLockOwner } from './lock-owner.js'

const POLL_INTERVAL = 20
const HEARTBEAT = 5_000
// How long a lock file must be unchanged, by the clock of the waiter: those of two machines may differ, and a laptop that
// sleeps stops both. Less than the time limit of a start, so that a start gets past an owner that has crashed.
const STALE_AFTER = 20_000
const WARN_AFTER = 3_000

/** The locks that this process holds. A lock file of this process that is not among them could not be released. */
export class HeldLocks {
  private readonly prefix = randomBytes(8).toString('hex')
  private readonly ids = new Set<string>()

  add(): string {
    const id = `${this.prefix}.${randomBytes(8).toString('hex')}`
    this.ids.add(id)
    return id
  }

  delete(id: string): void {
    this.ids.delete(id)
  }

  isOrphaned(id = ''): boolean {
    return id.startsWith(this.prefix) && !this.ids.has(id)
  }
}

/**
 * A lock across processes, as a series of files `NAME.1`, `NAME.2` and so on. The last one names the owner; with any other
 * content the lock is free. It is acquired by creating the next file, which only one process can; so the lock of a killed
 * process is taken over without deleting its file first, which two processes could do at once. The last file is not
 * deleted. Files are created whole by a link, so one without an owner is never one that is still being written.
 */
export class GenerationLock {
  constructor(
    private readonly path: string,
    private readonly self: LockOwner,
    private readonly locks: HeldLocks,
    private readonly log: Pick<Log, 'warn'>,
  ) {}

  /**
   * Waits for the lock. Throws when no file can be created, and what `refuse` returns, if it is given, once it is known that
   * the owner runs.
   */
  async acquire(refuse?: (owner: LockOwner) => Error): Promise<HeldLock> {
    const id = this.locks.add()
    const file = await this.waitForLock(JSON.stringify({ ...this.self, mark: id }), refuse).catch(
      (error: unknown) => {
        this.locks.delete(id)
        throw error
      },
    )
    const heartbeat = setInterval(() => {
      const now = new Date()
      utimes(file, now, now).catch(() => {})
    }, HEARTBEAT).unref()
    const release = async (): Promise<void> => {
      clearInterval(heartbeat)
      // A full disk has no room for another file. An empty file is free too.
      await replaceFile(file, FREE).catch(() => truncate(file).catch(() => {}))
      this.locks.delete(id)
    }
    // Whoever takes it over deletes the file.
    const check = (): Promise<void> =>
      access(file).catch((cause: NodeJS.ErrnoException) => {
        if (cause.code !== 'ENOENT') throw cause
        throw new Error('another process took its lock over while this one stood still: restart', { cause })
      })
    return { release, check }
  }

  private async waitForLock(text: string, refuse?: (owner: LockOwner) => Error): Promise<string> {
    const observation = new LockObservation()
    for (;;) {
      const last = await this.last()
      if (last === 0 || (await this.isFree(last, observation))) {
        const file = await this.create(last + 1, text)
        if (file !== undefined) return file
      } else {
        const owner = refuse && (await this.runningOwner(last, observation))
        if (refuse !== undefined && owner !== undefined) throw refuse(owner)
        if (observation.shouldWarn())
          this.log.warn({ path: this.file(last) }, 'waiting for a lock that another process holds')
      }
      await setTimeout(POLL_INTERVAL * (1 + Math.random()))
    }
  }

  /** The number of the last file, 0 when there is none. */
  private async last(): Promise<number> {
    return Math.max(0, ...(await this.numbers()))
  }

  private async numbers(): Promise<readonly number[]> {
    const directory = dirname(this.path)
    const prefix = this.path.slice(directory.length + 1)
    const names = await readdir(directory).catch(() => [])
    return names
      .filter((name) => name.startsWith(`${prefix}.`))
      .map((name) => name.slice(prefix.length + 1))
      .filter((rest) => /^\d{1,15}$/.test(rest))
      .map(Number)
  }

  private async isFree(number: number, observation: LockObservation): Promise<boolean> {
    const file = this.file(number)
    try {
      const owner = parseLockOwner(await readFile(file, 'utf8'))
      if (owner === undefined || (await hasExited(owner, this.self))) return true
      if (this.locks.isOrphaned(owner.mark)) return true
      const { mtimeMs } = await stat(file)
      return observation.unchangedFor(`${number} ${mtimeMs}`) > STALE_AFTER
    } catch (error) {
      if (isFileSystemError(error) && error.code === 'EISDIR') return true
      // Deleted since, or not readable: the next poll or the stale time decides.
      return observation.unchangedFor(`${number}`) > STALE_AFTER
    }
  }

  private async runningOwner(
    number: number,
    { hasChanged }: LockObservation,
  ): Promise<LockOwner | undefined> {
    const owner = parseLockOwner(await readFile(this.file(number), 'utf8').catch(() => ''))
    if (owner === undefined) return undefined
    return hasChanged || (await isRunning(owner, this.self)) ? owner : undefined
  }

  /** Creates the next file; `undefined` when another process was faster. */
  private async create(number: number, text: string): Promise<string | undefined> {
    const file = this.file(number)
    const draft = await writeDraft(file, text)
    try {
      await link(draft, file)
    } catch (error) {
      if (isFileSystemError(error) && error.code === 'EEXIST') return undefined
      throw error
    } finally {
      await unlink(draft).catch(() => {})
    }
    const numbers = await this.numbers()
    if (Math.max(...numbers) === number) {
      const older = numbers.filter((each) => each < number)
      await Promise.all(older.map((each) => unlink(this.file(each)).catch(() => {})))
      return file
    }
    // Since the poll, others have acquired and released the lock, and this file is one that they had deleted.
    await unlink(file).catch(() => {})
    return undefined
  }

  private file(number: number): string {
    return join(`${this.path}.${number}`)
  }
}

const FREE = 'free'

/** A lock of this process, until it is released or lost. */
export interface HeldLock {
  release(): Promise<void>
  /** Throws when another process took it over, since this one stood still. */
  check(): Promise<void>
}

/** How long a lock has been unchanged, as seen by one waiter. */
class LockObservation {
  private state = ''
  private since = 0
  private readonly startedAt = performance.now()
  private warned = false
  /** Its owner has shown since that it runs. */
  hasChanged = false

  unchangedFor(state: string): number {
    const now = performance.now()
    this.hasChanged ||= this.state !== '' && state !== this.state
    if (state !== this.state) this.since = now
    this.state = state
    return now - this.since
  }

  /** `true` once, after a while of waiting. */
  shouldWarn(): boolean {
    const warn = !this.warned && performance.now() - this.startedAt > WARN_AFTER
    this.warned ||= warn
    return warn
  }
}
