import { createHash } from 'node:crypto'
import { access, chmod, constants, mkdir, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, type Log, type StateStore } from 'sallyport'
import { DRAFT, replaceFile } from './atomic-file.js'
import { GenerationLock } from './generation-lock.js'
import { type Holder, thisProcess } from './holder.js'
import type { Note } from './kept-keys.js'
import { plainText, type Record, recordIn, sealedText, textIn } from './record.js'
import type { Seal } from './seal.js'
import { plain } from './sealed-value.js'

const ABANDONED_AFTER = 3_600_000

interface Surroundings {
  readonly log: Pick<Log, 'warn'>
  /** Encrypts every value, where it can; where it can, none is believed that is not encrypted. */
  readonly seal: Seal
}

/**
 * One file for each value, in a directory of this user's. Values that are broken count as absent, and that is said.
 * Those that only lack their key do not: they throw, and nothing takes their place.
 */
export class FileStore implements StateStore {
  private readonly turns = new Map<string, Promise<unknown>>()
  private readonly complained = new Set<string>()
  /** The name of a key is no secret, and has to be read before anything can be opened. */
  private readonly note: Note = {
    read: async () => {
      const record = await this.recordOf(NEWEST_KEY)
      return record?.is === 'plain' ? record.value : undefined
    },
    write: (name) => replaceFile(this.file(NEWEST_KEY), plainText(NEWEST_KEY, name)),
    alone: (work) => this.locked(NEWEST_KEY, work),
    inUse: async () => (await this.records()).some(({ is }) => is === 'sealed'),
  }

  static async open(directory: string, surroundings: Surroundings): Promise<FileStore> {
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
    const store = new FileStore(directory, await thisProcess(), surroundings)
    await store.sweep()
    return store
  }

  private constructor(
    private readonly directory: string,
    private readonly own: Holder,
    private readonly surroundings: Surroundings,
  ) {}

  async get(key: string): Promise<string | undefined> {
    const record = await this.recordOf(key)
    if (record === undefined) return undefined
    const { seal } = this.surroundings
    if (record.is === 'sealed') return seal.open(record.value, key)
    // Who can write the directory and has no key could plant a login.
    if ((await seal.key(this.note)) !== undefined) throw plain()
    return record.value
  }

  async set(key: string, value: string): Promise<void> {
    await this.get(key)
    const sealed = await this.surroundings.seal.close(value, key, this.note)
    const text = sealed === undefined ? plainText(key, value) : sealedText(key, sealed)
    await replaceFile(this.file(key), text)
  }

  /** Encrypts what was kept before there was a key. `false` where there is none. */
  async takeOver(): Promise<boolean> {
    const { seal } = this.surroundings
    if ((await seal.key(this.note)) === undefined) return false
    const before = (await this.records()).filter(({ is }) => is === 'plain')
    for (const { key } of before) {
      if (key !== undefined && key !== NEWEST_KEY) await this.locked(key, () => this.encrypt(key))
    }
    return true
  }

  async delete(key: string): Promise<void> {
    await unlink(this.file(key)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }

  async keys(prefix: string): Promise<readonly string[]> {
    return (await this.records())
      .map(({ key }) => key)
      .filter((key) => key !== undefined)
      .filter((key) => key.startsWith(prefix))
      .sort()
  }

  /** In this process by turns, so that only one of its waiters looks at files. */
  async locked<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.turns.get(key) ?? Promise.resolve()
    const lock = new GenerationLock(join(this.directory, 'locks', fileName(key)), this.own)
    const turn = before.then(() => lock.held(work))
    const settled = turn.catch(() => {})
    this.turns.set(key, settled)
    try {
      return await turn
    } finally {
      if (this.turns.get(key) === settled) this.turns.delete(key)
    }
  }

  private async encrypt(key: string): Promise<void> {
    const record = await this.recordOf(key)
    // Meanwhile somebody else may have done it, or signed in.
    if (record?.is !== 'plain') return
    const value = await this.surroundings.seal.close(record.value, key, this.note)
    if (value !== undefined) await replaceFile(this.file(key), sealedText(key, value))
  }

  private async records(): Promise<Record[]> {
    const names = (await readdir(this.directory)).filter((name) => name.endsWith(SUFFIX))
    return Promise.all(names.map(async (name) => recordIn((await textIn(join(this.directory, name))) ?? '')))
  }

  private async recordOf(key: string): Promise<Exclude<Record, { is: 'unreadable' }> | undefined> {
    const path = this.file(key)
    const text = await textIn(path)
    if (text === undefined) return undefined
    const record = recordIn(text)
    // A whole file that was put in the place of another still says whose it is.
    if (record.key !== undefined && record.key !== key) {
      return this.unreadable(path, 'it is the value of another key')
    }
    return record.is === 'unreadable' ? this.unreadable(path, record.reason) : record
  }

  /** The file stays until a new value takes its place: the version that wrote it may come back. */
  private unreadable(path: string, reason: string): undefined {
    if (this.complained.has(path)) return
    this.complained.add(path)
    this.surroundings.log.warn({ path, reason }, 'kept state cannot be used and counts as absent')
  }

  /** Removes what a killed process left half written. */
  private async sweep(): Promise<void> {
    for (const folder of [this.directory, join(this.directory, 'locks')]) {
      const drafts = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(DRAFT))
      for (const draft of drafts) {
        const path = join(folder, draft)
        const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? { mtimeMs: Number.POSITIVE_INFINITY }
        if (Date.now() - mtimeMs > ABANDONED_AFTER) await unlink(path).catch(() => {})
      }
    }
  }

  private file(key: string): string {
    return join(this.directory, fileName(key) + SUFFIX)
  }
}

const SUFFIX = '.json'
const NEWEST_KEY = 'sealing/newest'

// A key may be longer than a file name, and hold what a path must not.
const fileName = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 40)
