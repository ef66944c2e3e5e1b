import { constants, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Lines } from '../lines.js'
import { isSame, unlessMissing } from './named-file.js'

const NEWLINE = 0x0a
const SPACE = 0x20
/** How many bytes at the end of a file are checked for a torn line. */
const TAIL = 64 * 1024
const MAX_TRIES = 20
/** Milliseconds between two checks for a torn line. */
const CHECK_AGAIN = 10

/** An unfinished line at the end of a write that a full disk cut off. */
interface Fragment {
  /** The earliest offset of the write: other processes may have appended before it. */
  readonly from: number
  readonly written: Buffer
  /** The offset of the unfinished line in `written`. */
  readonly start: number
}

/** One file for appending lines, also after it was renamed. Other processes may append to it too. */
export class OpenFile {
  private fragment: Fragment | undefined

  private constructor(
    // A handle for appending cannot overwrite a fragment: `repairing` does that.
    private readonly appending: FileHandle,
    private readonly repairing: FileHandle,
    readonly identity: Pick<Stats, 'dev' | 'ino'>,
    /** The last line of the file has no end, as after a crash of the machine. */
    private tornBefore: boolean,
  ) {}

  /** Opens the file of this name, or creates it. Symbolic links are not followed. */
  static async open(path: string): Promise<OpenFile> {
    for (let tries = 1; ; tries++) {
      const opened = await OpenFile.tryOpen(path)
      if (opened !== 'renamed') return opened
      // Another process rotates the file, which takes a moment.
      if (tries === MAX_TRIES) throw new Error('other processes rename it all the time')
      await pause(tries)
    }
  }

  private static async tryOpen(path: string): Promise<OpenFile | 'renamed'> {
    const { O_WRONLY, O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants
    const appending = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
    let repairing: FileHandle | undefined
    try {
      repairing = await open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK).catch(unlessMissing)
      const [one, other] = await Promise.all([appending.stat(), repairing?.stat()])
      if (!one.isFile()) throw new Error('it is no regular file')
      if (repairing !== undefined && other !== undefined && isSame(one, other))
        return new OpenFile(appending, repairing, one, await isTorn(repairing))
      await Promise.all([appending.close(), repairing?.close()])
      return 'renamed'
    } catch (error) {
      await Promise.all([appending.close(), repairing?.close()])
      throw error
    }
  }

  /**
   * Appends whole lines in one write, so that lines of other processes come before or after them. Returns how many
   * lines are in the file: fewer when the disk is full.
   */
  async append({ bytes: lines, lengths }: Lines, size: number): Promise<number> {
    await this.blank()
    const bytes = this.tornBefore ? Buffer.concat([Buffer.of(NEWLINE), lines]) : lines
    const before = bytes.length - lines.length
    const { bytesWritten } = await this.appending.write(bytes)
    if (bytesWritten > 0) this.tornBefore = false
    // A deleted file loses its lines when it is closed.
    if (bytesWritten === bytes.length) return (await this.appending.stat()).nlink > 0 ? lengths.length : 0

    const { whole, end } = wholeLines(lengths, bytesWritten - before)
    const start = end + before
    if (bytesWritten > start)
      this.fragment = { from: size, written: Buffer.from(bytes.subarray(0, bytesWritten)), start }
    // If this fails too, the next `append` tries again.
    await this.blank().catch(() => {})
    return whole
  }

  async close(): Promise<void> {
    await this.blank().catch(() => {})
    await Promise.all([this.appending.close(), this.repairing.close()])
  }

  /**
   * Overwrites an unfinished line with spaces, which may precede JSON and need no more room on the disk. Cutting it off
   * instead could cut off a line that another process appends at the same moment.
   */
  private async blank(): Promise<void> {
    if (this.fragment === undefined) return
    const { from, written, start } = this.fragment
    const { size } = await this.repairing.stat()
    const region = await read(this.repairing, from, size - from)
    const at = region.indexOf(written)
    if (at === -1) this.tornBefore = true
    else {
      const spaces = Buffer.alloc(written.length - start, SPACE)
      for (let done = 0; done < spaces.length; ) {
        const { bytesWritten } = await this.repairing.write(
          spaces,
          done,
          spaces.length - done,
          from + at + start + done,
        )
        done += bytesWritten
      }
    }
    this.fragment = undefined
  }
}

function wholeLines(lengths: readonly number[], written: number): { whole: number; end: number } {
  let whole = 0
  let end = 0
  for (const length of lengths) {
    if (end + length > written) break
    end += length
    whole++
  }
  return { whole, end }
}

/**
 * Whether the last line has no end. A file that still grows is checked again: another process may be writing the line.
 */
async function isTorn(file: FileHandle): Promise<boolean> {
  for (let before = -1; ; await pause(CHECK_AGAIN)) {
    const { size } = await file.stat()
    if (await endsInLine(file, size)) return false
    if (size === before) return true
    before = size
  }
}

async function endsInLine(file: FileHandle, size: number): Promise<boolean> {
  const tail = await read(file, Math.max(0, size - TAIL), Math.min(size, TAIL))
  return tail.subarray(tail.lastIndexOf(NEWLINE) + 1).every((byte) => byte === SPACE)
}

async function read(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(Math.max(0, length))
  let filled = 0
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
