import { readFileSync, statSync } from 'node:fs'
import type { BaseLogger } from 'pino'
import { GatewayError } from '../../contract/errors.js'
import { DirectoryWatch } from './directory-watch.js'
import { fileFailure } from './file-failure.js'
import { pipes } from './pipes.js'
import { readRegularFile, refuseLarge } from './regular-file.js'
import { warnIfWorldReadable } from './world-readable.js'

const MAX_SECRET = 2 ** 20
const MAX_OTHER = 2 ** 24

export interface WatchedFileOptions {
  readonly log?: Pick<BaseLogger, 'info' | 'warn'> | undefined
  /** Throws when the content is unusable. Such content stops the boot; after the boot the gateway ignores it. */
  readonly check?: (text: string) => void
  /** Warns when every user of this machine may read the file. A secret file may have 1 MiB, another one 16. */
  readonly secret?: boolean
  /** Milliseconds between polls, for files whose changes cause no event, as on NFS. */
  readonly pollEvery?: number
}

/**
 * A file that is read again when it changes: written in place, renamed over, or swapped behind a symlink as
 * Kubernetes does. `text` is the last valid content, so a file that vanishes or becomes invalid changes nothing. It
 * keeps no process alive, and leaves nothing open after `close`.
 */
export class WatchedFile {
  readonly path: string
  private readonly options: WatchedFileOptions
  private readonly watch: DirectoryWatch
  private readonly listeners = new Set<(text: string) => void>()
  // It may be a secret, which no inspection of this object may show.
  #text: string
  private lastFailure: string | undefined

  /** Reads the file at once; throws `FILE_UNREADABLE`, or what `check` throws. */
  static open(path: string, options: WatchedFileOptions = {}): WatchedFile {
    const text = readNow(path, limitOf(options))
    options.check?.(text)
    if (options.secret) warnIfWorldReadable(path, options.log)
    return new WatchedFile(path, text, options)
  }

  private constructor(path: string, text: string, options: WatchedFileOptions) {
    this.path = path
    this.#text = text
    this.options = options
    this.watch = new DirectoryWatch(path, {
      pollEvery: options.pollEvery ?? 10_000,
      check: (settled) => this.check(settled),
    })
  }

  get text(): string {
    return this.#text
  }

  /** Calls `listener` with each new content, until the function that it returns is called. */
  onChange(listener: (text: string) => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  close(): void {
    this.listeners.clear()
    this.watch.close()
  }

  private async check(settled: () => Promise<boolean>): Promise<void> {
    const limit = limitOf(this.options)
    try {
      let text = await readRegularFile(this.path, limit)
      // Waits for two equal reads: a program that writes in place may be half way through.
      for (let before: string | undefined; text !== this.#text && text !== before; ) {
        if (!(await settled())) return
        before = text
        text = await readRegularFile(this.path, limit)
      }
      if (text !== this.#text) this.options.check?.(text)
      this.accept(text)
    } catch (error) {
      this.reject(error)
    }
  }

  private accept(text: string): void {
    if (this.lastFailure !== undefined) this.options.log?.info({ path: this.path }, 'file is readable again')
    this.lastFailure = undefined
    if (text === this.#text) return
    this.#text = text
    for (const listener of this.listeners) listener(text)
  }

  private reject(error: unknown): void {
    const reason = fileFailure(error)
    if (reason === this.lastFailure) return
    this.lastFailure = reason
    this.options.log?.warn(
      { path: this.path, reason },
      'file cannot be used: the gateway keeps its last valid content',
    )
  }
}

const limitOf = ({ secret }: WatchedFileOptions): number => (secret ? MAX_SECRET : MAX_OTHER)

function readNow(path: string, maxBytes: number): string {
  try {
    const stats = statSync(path)
    pipes.refuseSecondRead(path, stats)
    refuseLarge(stats, maxBytes)
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new GatewayError('FILE_UNREADABLE', `cannot read ${path}: ${fileFailure(cause)}`, { cause })
  }
}
