import { createHash } from 'node:crypto'
import { access, chmod, constants, mkdir, readdir, readFile, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, type Log, type StateStore } from 'sallyport'
import { z } from 'zod'
import { DRAFT, replaceFile } from './atomic-file.js'
import { GenerationLock } from './generation-lock.js'
import { type Holder, thisProcess } from './holder.js'
import type { Note } from './kept-keys.js'
import type { Seal } from './seal.js'
import { SealedValue } from './sealed-value.js'

/** What stands in a file. Further fields are those of a later version, which keeps what this one needs. */
const record = z.looseObject({ format: z.literal(1), key: z.string(), value: z.string() })
// Only to name what a file of another form was for.
const named = z.looseObject({ key: z.string() })

const ABANDONED_AFTER = 3_600_000

interface Surroundings {
  readonly log: Pick<Log, 'warn'>
  /** Encrypts every value, where it can. */
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
    read: () => this.get(NEWEST_KEY),
    write: (name) => this.write(NEWEST_KEY, { value: name }),
    alone: (work) => this.locked(NEWEST_KEY, work),
    inUse: () => this.holdsKeptSeals(),
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
    return this.read(this.file(key), key)
  }

  async set(key: string, value: string): Promise<void> {
    await this.get(key)
    const sealed = await this.surroundings.seal.close(value, key, this.note)
    await this.write(key, sealed === undefined ? { value } : { value: JSON.stringify(sealed), sealed: true })
  }

  async delete(key: string): Promise<void> {
    await unlink(this.file(key)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
  }

  async keys(prefix: string): Promise<readonly string[]> {
    const found = (await this.texts()).map((text) => named.safeParse(jsonIn(text)).data?.key)
    return found
      .filter((key) => key?.startsWith(prefix))
      .filter((key) => key !== undefined)
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

  private async holdsKeptSeals(): Promise<boolean> {
    return (await this.texts()).some((text) => {
      const { data } = record.safeParse(jsonIn(text))
      const value = data?.['sealed'] === true ? SealedValue.safeParse(jsonIn(data.value)).data : undefined
      return value !== undefined && 'kept' in value
    })
  }

  private async texts(): Promise<string[]> {
    const names = (await readdir(this.directory)).filter((name) => name.endsWith(SUFFIX))
    return Promise.all(names.map(async (name) => (await textIn(join(this.directory, name))) ?? ''))
  }

  private async write(
    key: string,
    fields: { readonly value: string; readonly sealed?: true },
  ): Promise<void> {
    await replaceFile(this.file(key), `${JSON.stringify({ format: 1, key, ...fields })}\n`)
  }

  private async read(path: string, key: string): Promise<string | undefined> {
    const text = await textIn(path)
    if (text === undefined) return undefined
    const { success, data } = record.safeParse(jsonIn(text))
    if (!success) return this.unreadable(path, 'it has another form than this version writes')
    // A whole file that was put in the place of another still says whose it is.
    if (data.key !== key) return this.unreadable(path, 'it is the value of another key')
    if (data['sealed'] !== true) return data.value
    const value = SealedValue.safeParse(jsonIn(data.value))
    if (!value.success)
      return this.unreadable(path, 'it is encrypted in a way that this version does not know')
    return this.surroundings.seal.open(value.data, key)
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

async function textIn(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
