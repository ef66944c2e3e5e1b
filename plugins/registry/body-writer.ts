import type { JsonScan, Span } from './json-scan.js'

const FIRST_SIZE = 64 * 1024

/** Writes the bodies of many versions into memory that it uses again and again: a buffer for each would be much garbage. */
export class BodyWriter {
  private bytes = Buffer.allocUnsafeSlow(FIRST_SIZE)
  /** Where the next byte is written. */
  end = 0

  text(text: string): void {
    this.reserve(Buffer.byteLength(text))
    this.end += this.bytes.write(text, this.end)
  }

  /** Writes a value without the white space between its tokens; returns what was written, until more is. */
  compact(scan: JsonScan, span: Span): Buffer {
    this.reserve(span.end - span.start)
    const start = this.end
    this.end = scan.copyCompact(span, this.bytes, start)
    return this.bytes.subarray(start, this.end)
  }

  /** A copy of all that was written, and begins anew. */
  take(): Uint8Array {
    const taken = new Uint8Array(this.bytes.subarray(0, this.end))
    this.end = 0
    return taken
  }

  private reserve(size: number): void {
    if (this.end + size <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.end + size, 2 * this.bytes.length))
    this.bytes.copy(larger, 0, 0, this.end)
    this.bytes = larger
  }
}
