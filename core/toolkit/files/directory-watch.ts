import { type FSWatcher, type Stats, watch } from 'node:fs'
import { lstat, readlink, stat } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'

interface WatchOptions {
  readonly pollEvery: number
  /**
   * Checks the file. `settled` waits for a short while at each call, and resolves to false when the watch was closed
   * meanwhile.
   */
  readonly check: (settled: () => Promise<boolean>) => Promise<void>
}

// Milliseconds within which one write causes several events.
const settleTime = 50

/**
 * Checks a file whenever something changes in one of the directories of its path, symbolic links included. It does
 * not watch the file itself: after a rename the watcher would stay on the old file.
 */
export class DirectoryWatch {
  private readonly path: string
  private readonly options: WatchOptions
  private readonly watchers = new Map<string, FSWatcher>()
  private readonly poll: NodeJS.Timeout
  private readonly closed = new AbortController()
  private busy = false
  private again = false

  constructor(path: string, options: WatchOptions) {
    this.path = resolve(path)
    this.options = options
    this.poll = setInterval(() => this.wake(), options.pollEvery).unref()
    this.wake()
  }

  close(): void {
    this.closed.abort()
    clearInterval(this.poll)
    for (const watcher of this.watchers.values()) watcher.close()
    this.watchers.clear()
  }

  private wake(): void {
    this.again = true
    if (!this.busy) void this.run()
  }

  private async run(): Promise<void> {
    this.busy = true
    while (this.again && !this.closed.signal.aborted) {
      this.again = false
      // First the watchers, then the check: a later change causes an event, and the check sees an earlier one.
      await this.updateWatchers()
      await this.options.check(() => this.settled())
      // In a busy directory most events are about other files.
      await this.settled()
    }
    this.busy = false
  }

  private async updateWatchers(): Promise<void> {
    const wanted = await directoriesTo(this.path)
    if (this.closed.signal.aborted) return
    for (const [key, watcher] of this.watchers) {
      if (wanted.has(key)) continue
      watcher.close()
      this.watchers.delete(key)
    }
    for (const [key, directory] of wanted) {
      if (!this.watchers.has(key)) this.open(key, directory)
    }
  }

  private open(key: string, directory: string): void {
    try {
      const watcher = watch(directory, { persistent: false }, () => this.wake())
      watcher.on('error', () => {
        watcher.close()
        this.watchers.delete(key)
      })
      this.watchers.set(key, watcher)
    } catch {
      // The directory is gone, or the limit of watches is reached: the poll notices changes.
    }
  }

  private settled(): Promise<boolean> {
    return setTimeout(settleTime, true, { ref: false, signal: this.closed.signal }).catch(() => false)
  }
}

/**
 * The directories whose entries decide which file `path` names, by device and inode: a new directory of the same
 * name is another one.
 */
async function directoriesTo(path: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const routes = [path]
  for (const route of routes) {
    if (routes.length > 40) break // as many links as Linux follows
    for (let step = route; dirname(step) !== step; step = dirname(step)) {
      const entry = await lstat(step).catch(() => undefined)
      if (step !== route && !entry?.isSymbolicLink()) continue
      await addDirectory(dirname(step), found)
      if (!entry?.isSymbolicLink()) continue
      const target = await readlink(step).catch(() => undefined)
      if (target !== undefined) routes.push(resolve(dirname(step), target, relative(step, route)))
    }
  }
  return found
}

async function addDirectory(directory: string, found: Map<string, string>): Promise<void> {
  const seen: Stats | undefined = await stat(directory).catch(() => undefined)
  if (seen !== undefined) found.set(`${seen.dev}:${seen.ino}`, directory)
}
