const LINE_FEED = 0x0a

/** A line that was longer than is taken, and is gone. */
export const TOO_LONG = Symbol('too long')

/** Cuts bytes into lines as they come, and never holds more than `most` bytes of one. */
export class Lines {
  private parts: Buffer[] = []
  private size = 0

  constructor(private readonly most: number) {}

  *cut(chunk: Buffer): Generator<Buffer | typeof TOO_LONG> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.keep(chunk.subarray(start, end))
      start = end + 1
      yield this.whole()
    }
    this.keep(chunk.subarray(start))
  }

  /** What stands behind the last line end. */
  *rest(): Generator<Buffer | typeof TOO_LONG> {
    if (this.size > 0) yield this.whole()
  }

  private keep(part: Buffer): void {
    this.size += part.length
    if (this.size > this.most) this.parts = []
    else if (part.length > 0) this.parts.push(part)
  }

  private whole(): Buffer | typeof TOO_LONG {
    const { parts, size, most } = this
    this.parts = []
    this.size = 0
    if (size > most) return TOO_LONG
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  }
}
