export const LINE_FEED = 0x0a
export const CARRIAGE_RETURN = 0x0d

/** Finds the line feeds and carriage returns of a text, in their order. */
export class LineBreaks {
  private feed = -1
  private carriageReturn = -1

  constructor(private readonly bytes: Buffer) {}

  /** The position of the first one at `from` or after it; the length of the text when there is none. */
  next(from: number): number {
    if (this.feed < from) this.feed = this.find(LINE_FEED, from)
    if (this.carriageReturn < from) this.carriageReturn = this.find(CARRIAGE_RETURN, from)
    return Math.min(this.feed, this.carriageReturn)
  }

  private find(byte: number, from: number): number {
    const at = this.bytes.indexOf(byte, from)
    return at < 0 ? this.bytes.length : at
  }
}
