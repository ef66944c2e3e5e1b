import { type FileHandle, mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { UpstreamError } from 'sallyport'
import { fileFailure } from 'sallyport/toolkit'
import { isFileSystemError, syncDirectory } from './atomic-file.js'

const RETRY_AFTER = 5
const READ_SIZE = 1024 * 1024
const NEWLINE = 0x0a

/** Where a line is. */
export interface LinePlace {
  readonly start: number
  readonly length: number
}

/** A file of lines that only grows. What `append` stored is on the disk, also after a power failure. */
export class JournalFile {
  private constructor(
    readonly path: string,
    private readonly handle: FileHandle,
    /** Where the last line that counts ends. */
    private size: number,
    /** Whether something may stand behind it: the rest of an append that failed. */
    private hasRest: boolean,
  ) {}

  /** Opens the file, or creates it. */
  static async open(path: string): Promise<JournalFile> {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const handle = await open(path, 'a+', 0o600)
    await syncDirectory(dirname(path))
    return new JournalFile(path, handle, 0, true)
  }

  /** Every whole line from the start of the file, for whoever opens it. What stands behind the last one will be cut off. */
  async *lines(): AsyncGenerator<{ readonly line: Buffer; readonly start: number }> {
    let rest = Buffer.alloc(0)
    for (let at = 0; ; ) {
      const read = await this.read(at, READ_SIZE)
      if (read.length === 0) return
      at += read.length
      let bytes = Buffer.concat([rest, read])
      for (let end = bytes.indexOf(NEWLINE) + 1; end > 0; end = bytes.indexOf(NEWLINE) + 1) {
        const start = this.size
        this.size += end
        yield { line: bytes.subarray(0, end), start }
        bytes = bytes.subarray(end)
      }
      rest = bytes
    }
  }

  /** Up to `length` bytes; fewer at the end of the file. */
  async read(position: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await this.handle.read(buffer, filled, length - filled, position + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return buffer.subarray(0, filled)
  }

  /** Lines with what they are of, in the order of the file: what lies close together is read at once. */
  async *readEach<T>(
    items: Iterable<T>,
    placeOf: (item: T) => LinePlace,
  ): AsyncGenerator<readonly [item: T, line: Buffer]> {
    const ordered = [...items].toSorted((a, b) => placeOf(a).start - placeOf(b).start)
    const places = ordered.map(placeOf)
    for (let first = 0; first < ordered.length; ) {
      const { start, end, next } = closeTogether(places, first)
      const bytes = await this.read(start, end - start)
      for (const item of ordered.slice(first, next)) {
        const place = placeOf(item)
        yield [item, bytes.subarray(place.start - start, place.start - start + place.length)]
      }
      first = next
    }
  }

  /** Returns how many bytes were cut off: of a write that nobody was told of. */
  async cutRest(): Promise<number> {
    const { size } = await this.handle.stat()
    if (size > this.size) {
      await this.handle.truncate(this.size)
      await this.handle.datasync()
    }
    this.hasRest = false
    return Math.max(0, size - this.size)
  }

  /** Returns where these lines begin. When it throws, nothing of them counts. */
  async append(lines: Buffer, mayWrite: () => Promise<void> = async () => {}): Promise<number> {
    try {
      await mayWrite()
      if (this.hasRest) await this.cutRest()
      await this.checkPlace(this.size)
      this.hasRest = true
      for (let written = 0; written < lines.length; ) {
        written += (await this.handle.write(lines, written)).bytesWritten
      }
      await this.handle.datasync()
      // What was written to a file that has no name any more is gone with this process.
      await this.checkPlace(this.size + lines.length)
    } catch (error) {
      if (this.hasRest) await this.cutRest().catch(() => {})
      throw notStored(error)
    }
    this.hasRest = false
    const start = this.size
    this.size += lines.length
    return start
  }

  /** Throws when the next append would, for what can be known without one. */
  async check(): Promise<void> {
    try {
      await this.checkPlace()
    } catch (error) {
      throw notStored(error)
    }
  }

  async close(): Promise<void> {
    await this.handle.close()
  }

  /** Throws when the file of this name is another one by now, or another process changed it. */
  private async checkPlace(size?: number): Promise<void> {
    const [named, opened] = await Promise.all([stat(this.path), this.handle.stat()])
    if (named.ino !== opened.ino || named.dev !== opened.dev)
      throw new Error(`another file is in its place: ${PUT_BACK}`)
    if (size !== undefined && opened.size !== size)
      throw new Error('another process has changed it; restart to read it again')
  }
}

/** The lines from `first` on that are in one part of the file. */
function closeTogether(places: readonly LinePlace[], first: number) {
  const start = places[first]?.start ?? 0
  const endOf = (at: number): number => (places[at]?.start ?? 0) + (places[at]?.length ?? 0)
  let next = first + 1
  while (next < places.length && endOf(next) - start <= READ_SIZE) next++
  return { start, end: endOf(next - 1), next }
}

// A start would begin with an empty one.
const PUT_BACK = 'put it back before you restart'

function notStored(cause: unknown): UpstreamError {
  const reasons: Readonly<Record<string, string>> = {
    ENOSPC: 'the disk is full',
    EDQUOT: 'the disk quota is used up',
    EROFS: 'the disk can only be read',
    ENOENT: `its file is gone: ${PUT_BACK}`,
  }
  const code = isFileSystemError(cause) ? (cause.code ?? '') : ''
  const reason = reasons[code] ?? fileFailure(cause)
  return new UpstreamError('JOURNAL_UNWRITABLE', `the publication was not stored: ${reason}`, {
    cause,
    statusCode: 503,
    retryAfter: RETRY_AFTER,
  })
}
