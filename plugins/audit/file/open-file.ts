import { constants, type Stats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { Lines } from '../lines.js'
import { isSame, unlessMissing } from './named-file.js'

const NEWLINE = 0x0a
const SPACE = 0x20
/** How much of the end of a file is looked at. */
const TAIL = 64 * 1024
const MOST_TRIES = 20
/** Milliseconds. */
const LOOK_AGAIN = 10

/** The beginning of a line that a full disk left behind. */
interface Fragment {
  /** Where the write began at the earliest: other processes may have been faster. */
  readonly from: number
  readonly written: Buffer
  /** Where the unfinished line begins in what was written. */
  readonly start: number
}

/** One file that lines are appended to, whatever name it has by now. Other processes may append to it too. */
export class OpenFile {
  private fragment: Fragment | undefined

  private constructor(
    // What is opened for appending cannot write anywhere else.
    private readonly appending: FileHandle,
    private readonly repairing: FileHandle,
    readonly identity: Pick<Stats, 'dev' | 'ino'>,
    /** Somebody's last line has no end: the machine crashed. */
    private tornBefore: boolean,
  ) {}

  /** Opens the file of this name, or creates it. Symbolic links are not followed. */
  static async open(path: string): Promise<OpenFile> {
    for (let tries = 1; ; tries++) {
      const opened = await OpenFile.tryOpen(path)
      if (opened !== 'renamed') return opened
      // Another process rotates it, which takes it a moment.
      if (tries === MOST_TRIES) throw new Error('it is being renamed')
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
   * Appends whole lines in one write, so that those of other processes are before or after them. Returns how many of them
   * are in the file, which are fewer when the disk is full.
   */
  async append({ bytes: lines, lengths }: Lines, size: number): Promise<number> {
    await this.blank()
    const bytes = this.tornBefore ? Buffer.concat([Buffer.of(NEWLINE), lines]) : lines
    const before = bytes.length - lines.length
    const { bytesWritten } = await this.appending.write(bytes)
    if (bytesWritten > 0) this.tornBefore = false
    // A file without a name is gone when it is closed, with all that was written to it.
    if (bytesWritten === bytes.length) return (await this.appending.stat()).nlink > 0 ? lengths.length : 0

    const { whole, end } = wholeLines(lengths, bytesWritten - before)
    const start = end + before
    if (bytesWritten > start)
      this.fragment = { from: size, written: Buffer.from(bytes.subarray(0, bytesWritten)), start }
    // Where even this fails, it is tried again before the next lines.
    await this.blank().catch(() => {})
    return whole
  }

  async close(): Promise<void> {
    await this.blank().catch(() => {})
    await Promise.all([this.appending.close(), this.repairing.close()])
  }

  /**
   * Makes an unfinished line white space, which JSON may begin with. It is not cut off: between looking and cutting
   * another process could append. And it needs no room on the disk.
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

/** Not while it grows: a line that another process is writing has its end in a moment. */
async function isTorn(file: FileHandle): Promise<boolean> {
  for (let before = -1; ; await pause(LOOK_AGAIN)) {
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
