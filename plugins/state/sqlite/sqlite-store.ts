import { hash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { HealthState, Log, StateStore } from 'sallyport'
import { jsonObject } from 'sallyport/toolkit'
import { bytesOf, textOf } from '#plugins/store/bytes.js'
import { KeyedMutex } from '#plugins/store/keyed-mutex.js'
import { type Database, DatabaseError, isDiskFailure } from '#plugins/store/sqlite/database.js'
import { failureOf } from '#plugins/store/sqlite/failure.js'
import { FileLock, type HeldLock } from '#plugins/store/sqlite/file-lock.js'
import type { Row } from '#plugins/store/sqlite/state-tables.js'
import { cannotDecrypt, EncryptedValue, notEncrypted } from '../sealed-values.js'
import type { Encryption, KeyNameStore } from '../stored-keys.js'
import { UNKNOWN, UnsavedValues, type UnsavedWrites } from './unsaved-values.js'

interface Dependencies {
  readonly database: Database<'state'>
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
  /** Encrypts every value if there is a key; unencrypted values are refused then. */
  readonly encryption: Encryption
  readonly unsaved: UnsavedWrites
}

type SetOptions = NonNullable<Parameters<StateStore['set']>[2]>

/**
 * A row for each value. A value whose key is not available throws, and is not overwritten. This process uses values
 * that the disk refuses from memory until it accepts them.
 */
export class SqliteStore implements StateStore {
  private readonly mutex = new KeyedMutex()
  private readonly unsaved: UnsavedValues
  /** Not encrypted: every decryption needs it. */
  private readonly keyName: KeyNameStore = {
    read: async () => {
      const row = await this.row(LATEST_KEY)
      return row === undefined || row.sealed ? undefined : row.value
    },
    write: (name) => this.database.call('set', bytesOf(LATEST_KEY), name, false, undefined),
    locked: (work) => this.locked(LATEST_KEY, work),
    hasEncrypted: () => this.database.call('hasSealed'),
  }

  constructor(private readonly dependencies: Dependencies) {
    const { database, log, unsaved } = dependencies
    this.unsaved = new UnsavedValues({
      ...{ path: database.path, writes: unsaved, log },
      save: (key) => this.locked(key, () => this.saveUnsaved(key)),
      probe: () => database.call('probe'),
    })
  }

  health(): HealthState {
    return this.unsaved.health()
  }

  async stop(): Promise<void> {
    await this.unsaved.stop()
  }

  async get(key: string): Promise<string | undefined> {
    return (await this.found(key)).value
  }

  async set(key: string, value: string, { expiresAt }: SetOptions = {}): Promise<void> {
    let previous: number | undefined | typeof UNKNOWN = UNKNOWN
    try {
      previous = (await this.found(key)).id
      await this.write(key, value, expiresAt)
      this.unsaved.delete(key)
    } catch (error) {
      if (!isDiskFailure(error)) throw error
      this.unsaved.add(key, { value, expiresAt, previous }, error)
    }
  }

  async take(key: string): Promise<string | undefined> {
    // Other processes do not see unsaved values, and could take the saved value that an unsaved one replaces.
    if (this.unsaved.has(key)) await this.saveUnsaved(key)
    for (;;) {
      const row = await this.row(key)
      if (row === undefined) return undefined
      const value = await this.opened(key, row)
      if (await this.database.call('take', row.id)) return value
    }
  }

  /** Encrypts values that were stored before there was a key. Returns `false` without a key. */
  async encryptAll(): Promise<boolean> {
    if ((await this.dependencies.encryption.key(this.keyName)) === undefined) return false
    for (const key of (await this.database.call('plainKeys')).map(textOf))
      if (key !== LATEST_KEY) await this.locked(key, () => this.encrypt(key))
    return true
  }

  /**
   * Throws when the delete could not be saved: the value is gone in this process, but the next process reads it
   * again.
   */
  async delete(key: string): Promise<void> {
    try {
      await this.database.call('delete', bytesOf(key))
      this.unsaved.delete(key)
    } catch (error) {
      if (isDiskFailure(error)) {
        const previous = await this.row(key).then(
          (row) => row?.id,
          (): typeof UNKNOWN => UNKNOWN,
        )
        this.unsaved.add(key, { value: undefined, expiresAt: undefined, previous }, error)
      }
      throw error
    }
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const names = new Set((await this.database.call('keys')).map(textOf))
    for (const key of this.unsaved.keys) {
      const unsaved = this.unsaved.get(key, (await this.row(key))?.id)
      if (unsaved?.value !== undefined) names.add(key)
      else if (unsaved !== undefined) names.delete(key)
    }
    return [...names].filter((key) => key.startsWith(prefix)).sort()
  }

  /** Queued within this process, so that only one of its waiters polls. */
  locked<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.mutex.run(key, async () => {
      const lock = await this.lock(key)
      try {
        return await work()
      } finally {
        lock?.release()
      }
    })
  }

  private async lock(key: string): Promise<HeldLock | undefined> {
    const folder = join(dirname(this.database.path), 'locks')
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      // A key may be longer than a file name, and contain what a path must not.
      return await new FileLock(
        join(folder, hash('sha256', key).slice(0, 40)),
        this.dependencies.log,
      ).acquire()
    } catch (error) {
      // Other processes cannot create a lock here either, and losing a login is worse than refreshing it twice.
      this.unsaved.failed(
        error instanceof DatabaseError ? error : new DatabaseError(folder, failureOf(error)),
      )
      return undefined
    }
  }

  /** The current value, and the stored write. */
  private async found(key: string): Promise<{ readonly value: string | undefined; readonly id?: number }> {
    let row: Row | undefined
    try {
      row = await this.row(key)
    } catch (error) {
      const unsaved = isDiskFailure(error) ? this.unsaved.get(key, UNKNOWN) : undefined
      if (unsaved === undefined) throw error
      return { value: unsaved.value }
    }
    const id = row === undefined ? {} : { id: row.id }
    const unsaved = this.unsaved.get(key, row?.id)
    if (unsaved !== undefined) return { value: unsaved.value, ...id }
    return { value: row && (await this.opened(key, row)), ...id }
  }

  private async opened(key: string, row: Row): Promise<string | undefined> {
    const { encryption, log } = this.dependencies
    if (row.sealed) {
      const { data } = EncryptedValue.safeParse(jsonObject(row.value))
      if (data === undefined) throw cannotDecrypt('a value was changed', 'find out who wrote it')
      return textOf(Buffer.from(await encryption.decrypt(data, key)))
    }
    // A program that can write the directory, but has no key, could plant a login.
    if ((await encryption.key(this.keyName)) !== undefined) throw notEncrypted()
    try {
      return textOf(Buffer.from(row.value))
    } catch {
      log.warn({ key }, 'another program wrote a stored value; it counts as absent')
      return undefined
    }
  }

  private row(key: string): Promise<Row | undefined> {
    return this.database.call('get', bytesOf(key))
  }

  private get database(): Database<'state'> {
    return this.dependencies.database
  }

  private async write(key: string, value: string, expiresAt: number | undefined): Promise<void> {
    // The encrypted text is UTF-8, which has no half surrogates.
    const text = bytesOf(value).toString()
    const sealed = await this.sealed(key, text)
    await this.database.call('set', bytesOf(key), sealed ?? text, sealed !== undefined, expiresAt)
  }

  private async sealed(key: string, value: string): Promise<string | undefined> {
    const sealed = await this.dependencies.encryption.encrypt(value, key, this.keyName)
    return sealed && JSON.stringify(sealed)
  }

  private async saveUnsaved(key: string): Promise<void> {
    const unsaved = this.unsaved.get(key, (await this.row(key))?.id)
    if (unsaved === undefined) return
    if (unsaved.value === undefined) await this.database.call('delete', bytesOf(key))
    else await this.write(key, unsaved.value, unsaved.expiresAt)
    this.unsaved.delete(key)
  }

  private async encrypt(key: string): Promise<void> {
    const row = await this.row(key)
    // Another process may have encrypted or replaced it since.
    if (row === undefined || row.sealed) return
    const sealed = await this.sealed(key, row.value)
    if (sealed !== undefined) await this.database.call('seal', row.id, sealed)
  }
}

const LATEST_KEY = 'sealing/newest'
