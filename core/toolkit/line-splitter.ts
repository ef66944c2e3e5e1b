const LINE_FEED = 0x0a

/** Stands for a line that was longer than allowed. */
export const TOO_LONG = Symbol('too long')

/** Splits bytes into lines as they arrive, and holds at most `maxLength` bytes of a line. */
export class LineSplitter {
  private parts: Buffer[] = []
  private size = 0

  constructor(private readonly maxLength: number) {}

  *split(chunk: Buffer): Generator<Buffer | typeof TOO_LONG> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.append(chunk.subarray(start, end))
      start = end + 1
      yield this.takeLine()
    }
    this.append(chunk.subarray(start))
  }

  /** The rest after the last line feed. */
  *remainder(): Generator<Buffer | typeof TOO_LONG> {
    if (this.size > 0) yield this.takeLine()
  }

  private append(part: Buffer): void {
    this.size += part.length
    if (this.size > this.maxLength) this.parts = []
    else if (part.length > 0) this.parts.push(part)
  }

  private takeLine(): Buffer | typeof TOO_LONG {
    const { parts, size, maxLength } = this
    this.parts = []
    this.size = 0
    if (size > maxLength) return TOO_LONG
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }
}
