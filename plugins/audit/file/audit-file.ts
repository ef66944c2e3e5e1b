import { rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Log } from 'sallyport'
import { FileLock } from '#plugins/store/sqlite/file-lock.js'
import type { DeliveryResult } from '../delivery.js'
import { firstLines, type Lines } from '../lines.js'
import { fileAt, isSame, unlessMissing } from './named-file.js'
import { OpenFile } from './open-file.js'
import { writeFailure } from './path-check.js'

interface AuditFileOptions extends RotationOptions {
  /** 0: the file is never rotated. */
  readonly maxBytes: number
  readonly onUnrotated: (reason: string) => void
}

/** Milliseconds until the next attempt after a rotation that failed. */
const ROTATE_AGAIN = 60_000

/** The file of this path. It is rotated when it is full, and opened again when the path leads to another file. */
export class AuditFile {
  private opened: OpenFile | undefined
  private rotateFrom = 0
  private busy = false
  private closing = false

  constructor(
    private readonly path: string,
    private readonly options: AuditFileOptions,
  ) {}

  async open(): Promise<void> {
    this.opened = await OpenFile.open(this.path)
  }

  async deliver(lines: Lines): Promise<DeliveryResult> {
    this.busy = true
    try {
      let { file, size } = await this.current()
      if (this.isFull(size, lines) && (await this.rotated(file))) ({ file, size } = await this.current())
      const fitting = firstLines(lines, this.fitting(size, lines))
      const stored = await file.append(fitting, size)
      return stored === fitting.lengths.length ? { stored } : { stored, failure: { reason: INCOMPLETE } }
    } catch (error) {
      return { stored: 0, failure: { reason: writeFailure(error) } }
    } finally {
      this.busy = false
      if (this.closing) await this.closeOpened().catch(() => {})
    }
  }

  /** Does not wait for a disk that hangs: `deliver` closes the file when the disk goes on. */
  async close(): Promise<void> {
    this.closing = true
    if (!this.busy) await this.closeOpened()
  }

  private async closeOpened(): Promise<void> {
    const { opened } = this
    this.opened = undefined
    await opened?.close()
  }

  /** The file that has the path now: after another program or process has rotated it, a new one. */
  private async current(): Promise<{ file: OpenFile; size: number }> {
    const named = await fileAt(this.path)
    if (this.opened !== undefined && named !== undefined && isSame(named, this.opened.identity))
      return { file: this.opened, size: named.size }
    await this.closeOpened()
    this.opened = await OpenFile.open(this.path)
    return { file: this.opened, size: (await fileAt(this.path))?.size ?? 0 }
  }

  private isFull(size: number, { lengths: [first = 0] }: Lines): boolean {
    return size > 0 && this.exceeds(size + first) && performance.now() >= this.rotateFrom
  }

  private async rotated(file: OpenFile): Promise<boolean> {
    try {
      await rotate(this.path, file, this.options)
      return true
    } catch (error) {
      // A file that is too long is better than lost lines.
      this.rotateFrom = performance.now() + ROTATE_AGAIN
      this.options.onUnrotated(writeFailure(error))
      return false
    }
  }

  /** How many lines fit into the file, at least one. */
  private fitting(size: number, { lengths }: Lines): number {
    let end = size
    const tooLong = lengths.findIndex((length) => {
      end += length
      return this.exceeds(end)
    })
    if (tooLong === -1 || performance.now() < this.rotateFrom) return lengths.length
    return Math.max(1, tooLong)
  }

  private exceeds(size: number): boolean {
    return this.options.maxBytes > 0 && size > this.options.maxBytes
  }
}

const INCOMPLETE = 'not all of it could be written: the disk is full, or the file was deleted'

interface RotationOptions {
  /** How many full files stay: `.1` is the newest. */
  readonly keep: number
  readonly log: Pick<Log, 'warn'>
}

/** Renames a full file to `.1`, that to `.2`, and so on. When several processes try, one of them does it. */
async function rotate(path: string, full: OpenFile, { keep, log }: RotationOptions): Promise<void> {
  // With a dot in front, so that log collectors of `audit.jsonl*` skip it.
  const name = join(dirname(path), `.${basename(path)}.lock`)
  const lock = await new FileLock(name, log).acquire()
  try {
    const named = await fileAt(path)
    // Another process has rotated the file already.
    if (named === undefined || !isSame(named, full.identity)) return
    for (let number = await firstFree(path, keep); number > 1; number--)
      await rename(`${path}.${number - 1}`, `${path}.${number}`)
    // Another program may have moved the file at this moment.
    await rename(path, `${path}.1`).catch(unlessMissing)
  } finally {
    lock.release()
  }
}

/** The first missing number. Files after it stay, so a rotation that was killed half way deletes none. */
async function firstFree(path: string, keep: number): Promise<number> {
  let number = 1
  while (number < keep && (await fileAt(`${path}.${number}`)) !== undefined) number++
  return number
}
