import { link, readdir, readFile, stat, unlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { draftBeside, replaceFile } from './atomic-file.js'
import { Holder, isGone } from './holder.js'

const POLL = 20
const BEAT = 5_000
// How long a waiter watches a lock without a sign of life, by its own clock: those of two machines may differ, and a
// laptop that sleeps stops both.
const SILENCE = 30_000

/**
 * A lock across processes, as a row of files `NAME.1`, `NAME.2` and so on. The last of them says who holds it, or
 * that nobody does. Who wants it makes the next one, which only one process can; so a lock whose holder was killed
 * is taken over without anybody removing it first, which two could do at once. The last file stays where it is.
 */
export class GenerationLock {
  constructor(
    private readonly path: string,
    private readonly own: Holder,
  ) {}

  async held<T>(work: () => Promise<T>): Promise<T> {
    const file = await this.take()
    const beat = setInterval(() => {
      const now = new Date()
      utimes(file, now, now).catch(() => {})
    }, BEAT).unref()
    try {
      return await work()
    } finally {
      clearInterval(beat)
      await replaceFile(file, FREE).catch(() => {})
    }
  }

  private async take(): Promise<string> {
    const watched = new Watched()
    for (;;) {
      const last = await this.last()
      if (last === 0 || (await this.isFree(last, watched))) {
        const file = await this.make(last + 1)
        if (file !== undefined) return file
      }
      await setTimeout(POLL * (1 + Math.random()))
    }
  }

  /** The number of the last file, 0 when there is none. */
  private async last(): Promise<number> {
    return Math.max(0, ...(await this.numbers()))
  }

  private async numbers(): Promise<readonly number[]> {
    const directory = dirname(this.path)
    const start = this.path.slice(directory.length + 1)
    const names = await readdir(directory).catch(() => [])
    return names
      .filter((name) => name.startsWith(`${start}.`))
      .map((name) => name.slice(start.length + 1))
      .filter((rest) => /^\d+$/.test(rest))
      .map(Number)
  }

  private async isFree(number: number, watched: Watched): Promise<boolean> {
    try {
      const text = await readFile(this.file(number), 'utf8')
      if (text === FREE) return true
      const { success, data } = Holder.safeParse(JSON.parse(text))
      if (success && (await isGone(data, this.own))) return true
      const { mtimeMs } = await stat(this.file(number))
      return watched.silentFor(`${number} ${mtimeMs}`) > SILENCE
    } catch {
      // Removed meanwhile, or nothing we wrote: the next look, or time, will tell.
      return watched.silentFor(`${number}`) > SILENCE
    }
  }

  /** Makes the next file, whole at once. Nothing when somebody else was faster. */
  private async make(number: number): Promise<string | undefined> {
    const file = this.file(number)
    const draft = await draftBeside(file, JSON.stringify(this.own))
    try {
      await link(draft, file)
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined
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
    // We looked before others took and passed on the lock, and made again what they had removed.
    await unlink(file).catch(() => {})
    return undefined
  }

  private file(number: number): string {
    return join(`${this.path}.${number}`)
  }
}

const FREE = 'free'

/** For how long the same sign was seen. */
class Watched {
  private sign = ''
  private since = 0

  silentFor(sign: string): number {
    const now = performance.now()
    if (sign !== this.sign) this.since = now
    this.sign = sign
    return now - this.since
  }
}
