import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Problem } from 'sallyport'
import { fileFailure, LineSplitter } from 'sallyport/toolkit'
import type { LineHandler } from './selection.js'

/** Bytes of one line: no audit sink writes a longer one. */
const MAX_LINE_BYTES = 1024 * 1024
const CHUNK = 256 * 1024
const LINE_FEED = 0x0a
/** This number of names without a file ends the search: during a rename, one name at a time has no file. */
const MAX_MISSING_NAMES = 2
/** A known file may have been removed: then no search finds it. */
const MAX_SEARCHES = 9

/** The receiver of the lines, and the signal that ends reading. */
export interface Reading {
  readonly onLine: LineHandler
  /** Called after each piece of a file: writes the collected output, and waits for a slow reader of it. */
  readonly flush?: () => Promise<void>
  readonly signal: AbortSignal
}

/** An open file that is read from a position to its end, and further when it has grown. A rename does not matter. */
export class OpenFile {
  private splitter = new LineSplitter(MAX_LINE_BYTES)
  private position = 0
  begin = 0
  /** The start of the line that is not complete yet. */
  private lineStart = 0
  /** The next bytes belong to a line that began before the position, and is skipped. */
  private skipsPartialLine = false

  private constructor(
    private readonly handle: FileHandle,
    /** Equal for two paths of the same file. */
    readonly identity: string,
    /** The path when the file was opened. */
    readonly path: string,
    /** False for pipes and devices, which are read as streams. */
    readonly isRegular: boolean,
    /** Bytes when the file was opened. */
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

  /** Bytes before this position are never read. */
  beginAt(position: number): void {
    this.begin = position
    this.goTo(position)
  }

  /** Goes on with the first line that begins at this position or after it. */
  goTo(position: number): void {
    this.splitter = new LineSplitter(MAX_LINE_BYTES)
    this.skipsPartialLine = position > 0
    this.position = Math.max(0, position - 1)
    this.lineStart = this.position
  }

  /** Reads on, to the end or to a position. Returns true when the file was truncated, and so reading began again. */
  async readOn({ onLine, flush, signal }: Reading, end = Number.POSITIVE_INFINITY): Promise<boolean> {
    this.backToLineStart()
    while (this.position < end && !signal.aborted) {
      // A new buffer each time: the splitter keeps a part of it.
      const buffer = Buffer.allocUnsafe(Math.min(CHUNK, end - this.position))
      const { bytesRead } = await this.handle.read(buffer, 0, buffer.length, this.position)
      if (bytesRead === 0) return this.beganAgain(onLine)
      this.split(buffer.subarray(0, bytesRead), onLine)
      this.position += bytesRead
      await flush?.()
      // This was the end. By the next read, a sink may have overwritten the unfinished line with blanks.
      if (bytesRead < buffer.length) break
    }
    return false
  }

  /** Takes the bytes after the last line feed as a line too: the file gets no more bytes. */
  finish(onLine: LineHandler): void {
    for (const line of this.splitter.remainder()) onLine(line)
    this.lineStart = this.position
  }

  stream = (): Readable => this.handle.createReadStream()

  close = (): Promise<void> => this.handle.close()

  /** After a full disk, a sink overwrites an unfinished line with blanks before the next line: read it again. */
  private backToLineStart(): void {
    const unfinished = this.position - this.lineStart
    if (unfinished === 0 || unfinished > MAX_LINE_BYTES || this.skipsPartialLine) return
    this.splitter = new LineSplitter(MAX_LINE_BYTES)
    this.position = this.lineStart
  }

  private split(chunk: Buffer, onLine: LineHandler): void {
    const lastEnd = chunk.lastIndexOf(LINE_FEED)
    if (lastEnd >= 0) this.lineStart = this.position + lastEnd + 1
    let rest = chunk
    if (this.skipsPartialLine) {
      const end = chunk.indexOf(LINE_FEED)
      if (end < 0) return
      this.skipsPartialLine = false
      rest = chunk.subarray(end + 1)
    }
    for (const line of this.splitter.split(rest)) onLine(line)
  }

  private async beganAgain(onLine: LineHandler): Promise<boolean> {
    if ((await this.handle.stat()).size >= this.position) return false
    this.finish(onLine)
    this.goTo(0)
    return true
  }
}

export const identityOf = ({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string =>
  `${dev}:${ino}`

/**
 * Opens FILE, FILE.1, FILE.2 and so on, up to the first of `known` or to the number `last`, and returns them, the
 * oldest first. A rotation may rename files meanwhile, but only to higher numbers, as the search goes: it misses no
 * file. But it may find a newer file after an older one, and between two renames a name has no file: a search with a
 * sign of either is repeated.
 */
export async function openNewer(
  path: string,
  known: readonly OpenFile[],
  last = Number.POSITIVE_INFINITY,
): Promise<readonly OpenFile[]> {
  for (let searches = 1; ; searches++) {
    const { newer, isSure } = await search(path, known, last)
    if (isSure || searches === MAX_SEARCHES) return newer
    for (const file of newer) await file.close()
  }
}

async function search(path: string, known: readonly OpenFile[], last: number) {
  const newer: OpenFile[] = []
  let wereRenamed = false
  for (let number = 0, missing = 0; number <= last && missing < MAX_MISSING_NAMES; number++) {
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
  // With known files the search should have ended at one of them.
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

interface SourceOptions {
  readonly path: string
  readonly rotated: boolean
  readonly follow: boolean
  readonly stdin: Readable
}

/** The files of one audit log, the oldest first. */
export interface Files {
  readonly files: readonly OpenFile[]
  /** This number of the last files may grow: the bytes after their last line feed are no line yet. */
  readonly growing: number
}

/** The source of the lines. */
export type Source = { readonly stream: Readable } | Files

/** Opens the files or the stream to read. With `follow`, the file before the last rotation is opened too. */
export async function openSource({
  path,
  rotated,
  follow,
  stdin,
}: SourceOptions): Promise<Source | { readonly problem: Problem }> {
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
async function readStream(stream: Readable, { onLine, flush, signal }: Reading): Promise<void> {
  const splitter = new LineSplitter(MAX_LINE_BYTES)
  const stop = (): void => void stream.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const chunk of stream) {
      for (const line of splitter.split(chunk)) onLine(line)
      await flush?.()
      if (signal.aborted) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
  if (!signal.aborted) for (const line of splitter.remainder()) onLine(line)
}

/** Reads each file to where it ended when it was opened. */
async function readFiles({ files, growing }: Files, reading: Reading): Promise<void> {
  for (const [index, file] of files.entries()) {
    await file.readOn(reading, file.size)
    if (index < files.length - growing && !reading.signal.aborted) file.finish(reading.onLine)
  }
}

export const readAll = (source: Source, reading: Reading): Promise<void> =>
  'stream' in source ? readStream(source.stream, reading) : readFiles(source, reading)

/** Sets the start of the next reading to `bytes` before the end. Returns whether that covers everything. */
export function goBack({ files }: Files, bytes: number): boolean {
  let behind = 0
  for (const file of files.toReversed()) {
    const own = file.size - file.begin
    file.goTo(file.begin + Math.min(own, Math.max(0, own + behind - bytes)))
    behind += own
  }
  return bytes >= behind
}
