/** The range of bytes of one value in a JSON text. */
export interface Span {
  readonly start: number
  readonly end: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/**
 * Finds values in a JSON text without making objects of them, which would turn 1.0 into 1 and 12345678901234567890 into
 * another number. It reads brackets and strings only: the caller still has to parse a span.
 */
export class JsonScan {
  readonly bytes: Buffer

  constructor(bytes: Uint8Array) {
    this.bytes = bufferOver(bytes)
  }

  /** Where the text's value begins. */
  begin(): number {
    const { bytes } = this
    // A byte order mark is not JSON, but some editors write one.
    return this.skip(bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0)
  }

  /** Throws when anything but white space follows a value that ends at `end`. */
  finish(end: number): void {
    const rest = this.skip(end)
    if (rest !== this.bytes.length) throw malformed(rest)
  }

  isList(at: number): boolean {
    return this.bytes[at] === OPEN_LIST
  }

  isObject(at: number): boolean {
    return this.bytes[at] === OPEN_OBJECT
  }

  /** The elements of the list that begins at `start`; returns where the list ends. */
  *elements(start: number): Generator<Span, number> {
    let at = this.skip(start + 1)
    while (this.bytes[at] !== CLOSE_LIST) {
      const value = this.span(at)
      yield value
      at = this.next(value.end, CLOSE_LIST)
    }
    return at + 1
  }

  /**
   * The keys of the object that begins at `start`, unescaped, each with the start of its value; returns the end of the
   * object. A caller that has read the value passes its end to `next`.
   */
  *members(start: number): Generator<readonly [key: string, value: number], number, number | undefined> {
    let at = this.skip(start + 1)
    while (this.bytes[at] !== CLOSE_OBJECT) {
      const [key, value] = this.key(at)
      const end = yield [key, value]
      at = this.next(end ?? this.endOf(value), CLOSE_OBJECT)
    }
    return at + 1
  }

  member(start: number, name: string): Span | undefined {
    let found: Span | undefined
    for (const [key, value] of this.members(start)) {
      // The last of several equal keys wins, as in JSON.parse.
      if (key === name) found = this.span(value)
    }
    return found
  }

  span(start: number): Span {
    return { start, end: this.endOf(start) }
  }

  /** How deeply a value is nested, and about how many values it has. */
  measure({ start, end }: Span): { readonly depth: number; readonly values: number } {
    let [open, depth, values] = [0, 0, 1]
    for (let at = start; at < end; at++) {
      const byte = this.bytes[at]
      if (byte === QUOTE) at = this.endOfString(at) - 1
      else if (byte === COMMA) values++
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        values++
        depth = Math.max(depth, ++open)
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) open--
    }
    return { depth, values }
  }

  text({ start, end }: Span): string {
    return this.bytes.toString('utf8', start, end)
  }

  /** The value without the white space between its tokens. */
  compact({ start, end }: Span): Buffer {
    const { bytes } = this
    const out = Buffer.allocUnsafe(end - start)
    let written = 0
    let inString = false
    for (let at = start; at < end; at++) {
      const byte = bytes[at] ?? 0
      if (inString) {
        out[written++] = byte
        if (byte === BACKSLASH) out[written++] = bytes[++at] ?? 0
        else if (byte === QUOTE) inString = false
      } else if (!isSpace(byte)) {
        out[written++] = byte
        if (byte === QUOTE) inString = true
      }
    }
    return out.subarray(0, written)
  }

  /** From the end of one value to the start of the next, or to the bracket that closes the list. */
  private next(at: number, close: number): number {
    const separator = this.skip(at)
    if (this.bytes[separator] === close) return separator
    if (this.bytes[separator] !== COMMA) throw malformed(separator)
    const following = this.skip(separator + 1)
    if (this.bytes[following] === close) throw malformed(following)
    return following
  }

  private key(at: number): readonly [key: string, value: number] {
    if (this.bytes[at] !== QUOTE) throw malformed(at)
    const end = this.endOfString(at)
    const key: unknown = JSON.parse(this.text({ start: at, end }))
    const colon = this.skip(end)
    if (this.bytes[colon] !== COLON) throw malformed(colon)
    return [String(key), this.skip(colon + 1)]
  }

  private skip(at: number): number {
    let here = at
    while (isSpace(this.bytes[here] ?? 0)) here++
    return here
  }

  /** Where the value that begins at `start` ends. */
  private endOf(start: number): number {
    const first = this.bytes[start]
    if (first === QUOTE) return this.endOfString(start)
    if (first === OPEN_OBJECT || first === OPEN_LIST) return this.endOfBrackets(start)
    let at = start
    while (isPlain(this.bytes[at] ?? COMMA)) at++
    if (at === start) throw malformed(start)
    return at
  }

  private endOfBrackets(start: number): number {
    let depth = 0
    for (let at = start; at < this.bytes.length; at++) {
      const byte = this.bytes[at]
      if (byte === QUOTE) at = this.endOfString(at) - 1
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++
      else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        depth--
        if (depth === 0) return at + 1
      }
    }
    throw malformed(this.bytes.length)
  }

  private endOfString(start: number): number {
    for (let at = start + 1; at < this.bytes.length; at++) {
      const byte = this.bytes[at]
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) return at + 1
    }
    throw malformed(this.bytes.length)
  }
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

const isPlain = (byte: number): boolean =>
  !isSpace(byte) &&
  byte !== COMMA &&
  byte !== COLON &&
  byte !== QUOTE &&
  byte !== CLOSE_LIST &&
  byte !== CLOSE_OBJECT

/** A buffer over the same memory. */
export const bufferOver = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

const malformed = (at: number): SyntaxError => new SyntaxError(`not JSON at byte ${at}`)
