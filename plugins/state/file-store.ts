import { hash } from 'node:crypto'
import { access, chmod, constants, mkdir, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, type HealthState, type Log, type StateStore } from 'sallyport'
import {
  isFileSystemError,
  removeAbandonedDrafts,
  replaceFile,
  writeDraft,
} from '#plugins/store/files/atomic-file.js'
import type { HeldLocks } from '#plugins/store/files/generation-lock.js'
import { type LockOwner, thisProcess } from '#plugins/store/files/lock-owner.js'
import { notEncrypted } from './encrypted-value.js'
import type { Encryption } from './encryption.js'
import { FileLocks } from './file-locks.js'
import { PendingWrites, type UnsavedValues } from './pending-writes.js'
import { encryptedRecord, parseRecord, plainRecord, type Record, readIfExists } from './record.js'
import type { KeyNameStore } from './stored-keys.js'

interface Dependencies {
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
  /** Encrypts every value if there is a key; then unencrypted ones are refused. */
  readonly encryption: Encryption
  readonly locks: HeldLocks
  readonly unsaved: UnsavedValues
}

/**
 * One file for each value, in a directory of this user. Damaged files count as absent, and are logged. Values whose key
 * is not available throw, and are not overwritten. Values that cannot be written to disk are used in this process until
 * they can be.
 */
export class FileStore implements StateStore {
  private readonly warned = new Set<string>()
  /** Not encrypted: it is needed to decrypt anything else. */
  private readonly keyName: KeyNameStore = {
    read: async () => {
      const record = await this.recordOf(LATEST_KEY)
      return record?.is === 'plain' ? record.value : undefined
    },
    write: (name) => this.replace(LATEST_KEY, plainRecord(LATEST_KEY, name)),
    locked: (work) => this.locked(LATEST_KEY, work),
    hasEncrypted: async () => (await this.records()).some(({ is }) => is === 'encrypted'),
  }
  private readonly pendingWrites: PendingWrites
  private readonly locks: FileLocks

  static async open(directory: string, dependencies: Dependencies): Promise<FileStore> {
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await access(directory, constants.W_OK)
      const { mode } = await stat(directory)
      if ((mode & 0o077) !== 0 && process.platform !== 'win32') await chmod(directory, 0o700)
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
      const message = `cannot keep state in ${directory} (${code}): expected a directory that this user may write`
      throw new ConfigError([{ place: 'directory', message }], { cause })
    }
    const store = new FileStore(directory, await thisProcess(), dependencies)
    for (const folder of store.folders) await removeAbandonedDrafts(folder)
    return store
  }

  private constructor(
    private readonly directory: string,
    self: LockOwner,
    private readonly dependencies: Dependencies,
  ) {
    const { locks, log, unsaved } = dependencies
    this.locks = new FileLocks({
      ...{ self, locks, log },
      failed: (error) => this.pendingWrites.recordFailure(error),
    })
    this.pendingWrites = new PendingWrites({
      directory,
      unsaved,
      log,
      textOf: (key) => readIfExists(this.file(key)),
      save: (key) => this.locked(key, () => this.savePending(key)),
      probe: () => this.probe(),
    })
  }

  health(): HealthState {
    return this.pendingWrites.health()
  }

  async stop(): Promise<void> {
    await this.pendingWrites.stop()
  }

  async get(key: string): Promise<string | undefined> {
    const pending = await this.pendingWrites.get(key)
    if (pending !== undefined) return pending.value
    const record = await this.recordOf(key)
    if (record === undefined) return undefined
    const { encryption } = this.dependencies
    if (record.is === 'encrypted') return encryption.decrypt(record.value, key)
    // Anybody who can write the directory, but has no key, could plant a login.
    if ((await encryption.key(this.keyName)) !== undefined) throw notEncrypted()
    return record.value
  }

  async set(key: string, value: string): Promise<void> {
    try {
      await this.get(key)
      await this.write(key, value)
      this.pendingWrites.delete(key)
    } catch (error) {
      if (!isFileSystemError(error)) throw error
      await this.pendingWrites.add(key, value, error)
    }
  }

  /** Encrypts values that were stored before there was a key. `false` without a key. */
  async encryptAll(): Promise<boolean> {
    const { encryption } = this.dependencies
    if ((await encryption.key(this.keyName)) === undefined) return false
    const unencrypted = (await this.records()).filter(({ is }) => is === 'plain')
    for (const { key } of unencrypted) {
      if (key !== undefined && key !== LATEST_KEY) await this.locked(key, () => this.encrypt(key))
    }
    return true
  }

  /** Throws when the file could not be deleted: the value is gone in this process, but the next one reads it again. */
  async delete(key: string): Promise<void> {
    try {
      await this.remove(key)
      this.pendingWrites.delete(key)
    } catch (error) {
      if (isFileSystemError(error)) await this.pendingWrites.add(key, undefined, error)
      throw error
    }
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const names = new Set((await this.records()).map(({ key }) => key).filter((key) => key !== undefined))
    for (const key of this.pendingWrites.keys) {
      const pending = await this.pendingWrites.get(key)
      if (pending?.value !== undefined) names.add(key)
      else if (pending !== undefined) names.delete(key)
    }
    return [...names].filter((key) => key.startsWith(prefix)).sort()
  }

  locked<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.locks.locked(join(this.directory, 'locks', fileName(key)), work)
  }

  private async write(key: string, value: string): Promise<void> {
    const encrypted = await this.dependencies.encryption.encrypt(value, key, this.keyName)
    const text = encrypted === undefined ? plainRecord(key, value) : encryptedRecord(key, encrypted)
    await this.replace(key, text)
  }

  private async savePending(key: string): Promise<void> {
    const pending = await this.pendingWrites.get(key)
    if (pending === undefined) return
    if (pending.value === undefined) await this.remove(key)
    else await this.write(key, pending.value)
    this.pendingWrites.delete(key)
  }

  private async probe(): Promise<void> {
    for (const folder of this.folders) await unlink(await writeDraft(join(folder, 'probe'), 'probe'))
  }

  private async encrypt(key: string): Promise<void> {
    const record = await this.recordOf(key)
    // Another process may have encrypted or replaced it since.
    if (record?.is !== 'plain') return
    const value = await this.dependencies.encryption.encrypt(record.value, key, this.keyName)
    if (value !== undefined) await this.replace(key, encryptedRecord(key, value))
  }

  private async records(): Promise<Record[]> {
    const names = (await readdir(this.directory)).filter((name) => name.endsWith(SUFFIX))
    return Promise.all(
      names.map(async (name) => parseRecord((await readIfExists(join(this.directory, name))) ?? '')),
    )
  }

  private async recordOf(key: string): Promise<Exclude<Record, { is: 'unreadable' }> | undefined> {
    const path = this.file(key)
    const text = await readIfExists(path)
    if (text === undefined) return undefined
    const record = parseRecord(text)
    // A file that was copied over another one still has its own key.
    if (record.key !== undefined && record.key !== key) {
      return this.unreadable(path, 'it is the value of another key')
    }
    return record.is === 'unreadable' ? this.unreadable(path, record.reason) : record
  }

  /** The file stays until a new value replaces it: the version that wrote it may be used again. */
  private unreadable(path: string, reason: string): undefined {
    if (this.warned.has(path)) return
    this.warned.add(path)
    this.dependencies.log.warn({ path, reason }, 'a stored value cannot be used and counts as absent')
  }

  private async replace(key: string, text: string): Promise<void> {
    await this.locks.check()
    await replaceFile(this.file(key), text)
  }

  private async remove(key: string): Promise<void> {
    await this.locks.check()
    await unlink(this.file(key)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }

  private get folders(): readonly string[] {
    return [this.directory, join(this.directory, 'locks')]
  }

  private file(key: string): string {
    return join(this.directory, fileName(key) + SUFFIX)
  }
}

const SUFFIX = '.json'
const LATEST_KEY = 'sealing/newest'

// A key may be longer than a file name, and contain what a path must not.
const fileName = (key: string): string => hash('sha256', key).slice(0, 40)
