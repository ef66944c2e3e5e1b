import { type FSWatcher, type Stats, watch } from 'node:fs'
import { lstat, readlink, stat } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'

interface Looking {
  readonly pollEvery: number
  /**
   * Looks at the file. It may ask, as often as it likes, for a short while to pass; the answer is false when
   * the watch was closed meanwhile.
   */
  readonly look: (settled: () => Promise<boolean>) => Promise<void>
}

// Long enough for the few events that one write makes, short enough for nobody to notice.
const settleTime = 50

/**
 * Looks at a file whenever something happens in one of the directories that its name leads through. The file
 * itself is not watched: a rename would leave the watcher on the old one.
 */
export class DirectoryWatch {
  readonly #path: string
  readonly #looking: Looking
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #poll: NodeJS.Timeout
  readonly #closed = new AbortController()
  #busy = false
  #again = false

  constructor(path: string, looking: Looking) {
    this.#path = resolve(path)
    this.#looking = looking
    this.#poll = setInterval(() => this.#wake(), looking.pollEvery).unref()
    this.#wake()
  }

  close(): void {
    this.#closed.abort()
    clearInterval(this.#poll)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #wake(): void {
    this.#again = true
    if (!this.#busy) void this.#run()
  }

  async #run(): Promise<void> {
    this.#busy = true
    while (this.#again && !this.#closed.signal.aborted) {
      this.#again = false
      // First the watchers, then the look: what changes in between is an event, and what changed before is seen.
      await this.#arm()
      await this.#looking.look(() => this.#settled())
      // In a busy directory most events are about other files.
      await this.#settled()
    }
    this.#busy = false
  }

  async #arm(): Promise<void> {
    const wanted = await directoriesTo(this.#path)
    if (this.#closed.signal.aborted) return
    for (const [key, watcher] of this.#watchers) {
      if (wanted.has(key)) continue
      watcher.close()
      this.#watchers.delete(key)
    }
    for (const [key, directory] of wanted) {
      if (!this.#watchers.has(key)) this.#open(key, directory)
    }
  }

  #open(key: string, directory: string): void {
    try {
      const watcher = watch(directory, { persistent: false }, () => this.#wake())
      watcher.on('error', () => {
        watcher.close()
        this.#watchers.delete(key)
      })
      this.#watchers.set(key, watcher)
    } catch {
      // Gone again, or no more watches to be had: the poll finds out.
    }
  }

  #settled(): Promise<boolean> {
    return setTimeout(settleTime, true, { ref: false, signal: this.#closed.signal }).catch(() => false)
  }
}

/** The directories whose entries decide what `path` means, by device and inode: a new one of the same name is another. */
async function directoriesTo(path: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const routes = [path]
  for (const route of routes) {
    if (routes.length > 40) break // as many links as Linux follows
    for (let step = route; dirname(step) !== step; step = dirname(step)) {
      const entry = await lstat(step).catch(() => undefined)
      if (step !== route && !entry?.isSymbolicLink()) continue
      await note(dirname(step), found)
      if (!entry?.isSymbolicLink()) continue
      const target = await readlink(step).catch(() => undefined)
      if (target !== undefined) routes.push(resolve(dirname(step), target, relative(step, route)))
    }
  }
  return found
}

async function note(directory: string, found: Map<string, string>): Promise<void> {
  const seen: Stats | undefined = await stat(directory).catch(() => undefined)
  if (seen !== undefined) found.set(`${seen.dev}:${seen.ino}`, directory)
}
