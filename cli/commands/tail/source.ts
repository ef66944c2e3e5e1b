import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Problem } from 'sallyport'
import { fileFailure, LineSplitter } from 'sallyport/toolkit'
import type { TakeLine } from './selection.js'

/** Bytes of one line: no audit sink writes such a one. */
const LONGEST_LINE = 1024 * 1024
const CHUNK = 256 * 1024
const LINE_FEED = 0x0a
/** So many names without a file end the search: while files are renamed, one name at a time has none. */
const MOST_MISSING = 2
/** A known file may have been removed: then no search comes to it. */
const MOST_SEARCHES = 9

/** How reading goes on, and when it ends. */
export interface Reading {
  readonly take: TakeLine
  /** Called after each piece of a file: writes what was taken, and waits for whoever reads it. */
  readonly flush?: () => Promise<void>
  readonly signal: AbortSignal
}

/** A file that is read from a place in it to its end, and on when it has grown. It stays itself when it is renamed. */
export class OpenFile {
  private splitter = new LineSplitter(LONGEST_LINE)
  private position = 0
  begin = 0
  /** Where the line begins that is not whole yet. */
  private lineStart = 0
  /** The next bytes belong to a line that began before, and is passed over. */
  private inMidst = false

  private constructor(
    private readonly handle: FileHandle,
    /** The same for two files when they are one. */
    readonly identity: string,
    /** What it was called when it was opened. */
    readonly path: string,
    /** Others, such as pipes, are streams. */
    readonly isRegular: boolean,
    /** Bytes, when it was opened. */
    readonly size: number,
  ) {}

  static async at(path: string): Promise<OpenFile> {
    const handle = await open(path, 'r')
    try {
      const stats = await handle.stat({ bigint: true })
      if (stats.isDirectory()) throw Object.assign(new Error(path), { code: 'EISDIR' })
      return new OpenFile(handle, identityOf(stats), path, stats.isFile(), Number(stats.size))
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** What is before that place is never read. */
  beginAt(position: number): void {
    this.begin = position
    this.goTo(position)
  }

  /** Goes on with the first line that begins at this place or behind it. */
  goTo(position: number): void {
    this.splitter = new LineSplitter(LONGEST_LINE)
    this.inMidst = position > 0
    this.position = Math.max(0, position - 1)
    this.lineStart = this.position
  }

  /** Reads on, to the end or to a place. Returns whether it was cut to a smaller size since, and so was begun again. */
  async readOn({ take, flush, signal }: Reading, end = Number.POSITIVE_INFINITY): Promise<boolean> {
    this.backToLineStart()
    while (this.position < end && !signal.aborted) {
      // A new one each time: the splitter keeps a part of it.
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK, end - this.position))
      const { bytesRead } = await this.handle.read(buffer, 0, buffer.length, this.position)
      if (bytesRead === 0) return this.beganAgain(take)
      this.split(buffer.subarray(0, bytesRead), take)
      this.position += bytesRead
      await flush?.()
      // This was the end. What has come since may follow a line that is blanks by now.
      if (bytesRead < buffer.length) break
    }
    return false
  }

  /** What follows the last line feed is a line too, when nothing more is to come. */
  finish(take: TakeLine): void {
    for (const line of this.splitter.remainder()) take(line)
    this.lineStart = this.position
  }

  stream = (): Readable => this.handle.createReadStream()

  close = (): Promise<void> => this.handle.close()

  /** A sink whose disk was full makes blanks of an unfinished line before it writes the next one. */
  private backToLineStart(): void {
    const unfinished = this.position - this.lineStart
    if (unfinished === 0 || unfinished > LONGEST_LINE || this.inMidst) return
    this.splitter = new LineSplitter(LONGEST_LINE)
    this.position = this.lineStart
  }

  private split(chunk: Buffer, take: TakeLine): void {
    const lastEnd = chunk.lastIndexOf(LINE_FEED)
    if (lastEnd >= 0) this.lineStart = this.position + lastEnd + 1
    let rest = chunk
    if (this.inMidst) {
      const end = chunk.indexOf(LINE_FEED)
      if (end < 0) return
      this.inMidst = false
      rest = chunk.subarray(end + 1)
    }
    for (const line of this.splitter.split(rest)) take(line)
  }

  private async beganAgain(take: TakeLine): Promise<boolean> {
    if ((await this.handle.stat()).size >= this.position) return false
    this.finish(take)
    this.goTo(0)
    return true
  }
}

export const identityOf = ({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string =>
  `${dev}:${ino}`

/**
 * Opens FILE, FILE.1, FILE.2 and so on, up to the first of `known` or to the number `last`, and returns them, the oldest
 * first. They may be renamed meanwhile, but only towards higher numbers, and that is the way of the search: none is
 * passed over. But one that is newer than another may be found after it, and between two renames names are without a
 * file: a search in which that could be is made again.
 */
export async function openNewer(
  path: string,
  known: readonly OpenFile[],
  last = Number.POSITIVE_INFINITY,
): Promise<readonly OpenFile[]> {
  for (let searches = 1; ; searches++) {
    const { newer, isSure } = await search(path, known, last)
    if (isSure || searches === MOST_SEARCHES) return newer
    for (const file of newer) await file.close()
  }
}

async function search(path: string, known: readonly OpenFile[], last: number) {
  const newer: OpenFile[] = []
  let wereRenamed = false
  for (let number = 0, missing = 0; number <= last && missing < MOST_MISSING; number++) {
    const file = await openIfThere(number === 0 ? path : `${path}.${number}`)
    const isIn = (files: readonly OpenFile[]) => files.some(({ identity }) => identity === file?.identity)
    missing = file === undefined ? missing + 1 : 0
    if (file === undefined) continue
    if (isIn(known)) {
      await file.close()
      return { newer, isSure: !wereRenamed }
    }
    if (isIn(newer)) {
      wereRenamed = true
      await file.close()
    } else newer.unshift(file)
  }
  // Otherwise it has not come to one that is known.
  return { newer, isSure: !wereRenamed && known.length === 0 }
}

async function openIfThere(path: string): Promise<OpenFile | undefined> {
  try {
    return await OpenFile.at(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw new Error(`${path}: ${fileFailure(error)}`, { cause: error })
  }
}

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

interface Asked {
  readonly path: string
  readonly rotated: boolean
  readonly follow: boolean
  readonly stdin: Readable
}

/** Files that follow each other. */
export interface Files {
  readonly files: readonly OpenFile[]
  /** So many of them, the last ones, may grow: what follows their last line feed is no line yet. */
  readonly growing: number
}

/** Where the lines come from. */
export type Source = { readonly stream: Readable } | Files

/** Opens what is to be read. Of files that are followed, the one before the last rotation is open too. */
export async function openSource({
  path,
  rotated,
  follow,
  stdin,
}: Asked): Promise<Source | { readonly problem: Problem }> {
  if (path === '-') return { stream: stdin }
  try {
    const files = await openNewer(path, [], rotated ? undefined : Number(follow))
    const current = files.at(-1)
    if (!follow && current?.path !== path) throw Object.assign(new Error(path), { code: 'ENOENT' })
    if (current?.isRegular === false) return { stream: current.stream() }
    for (const file of files) if (!rotated && file.path !== path) file.beginAt(file.size)
    return { files, growing: follow ? 2 : 0 }
  } catch (error) {
    const { cause = error } = error instanceof Error ? error : {}
    return { problem: { place: path, message: fileFailure(cause) } }
  }
}

/** Reads a stream to its end. */
async function readStream(stream: Readable, { take, flush, signal }: Reading): Promise<void> {
  const splitter = new LineSplitter(LONGEST_LINE)
  const stop = (): void => void stream.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const chunk of stream) {
      for (const line of splitter.split(chunk)) take(line)
      await flush?.()
      if (signal.aborted) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
  if (!signal.aborted) for (const line of splitter.remainder()) take(line)
}

/** Reads each file to where it ended when it was opened. */
async function readFiles({ files, growing }: Files, reading: Reading): Promise<void> {
  for (const [index, file] of files.entries()) {
    await file.readOn(reading, file.size)
    if (index < files.length - growing && !reading.signal.aborted) file.finish(reading.take)
  }
}

export const readAll = (source: Source, reading: Reading): Promise<void> =>
  'stream' in source ? readStream(source.stream, reading) : readFiles(source, reading)

/** Lets the next reading begin so many bytes before the end. Returns whether that is all there is. */
export function goBack({ files }: Files, bytes: number): boolean {
  let behind = 0
  for (const file of files.toReversed()) {
    const own = file.size - file.begin
    file.goTo(file.begin + Math.min(own, Math.max(0, own + behind - bytes)))
    behind += own
  }
  return bytes >= behind
}
