import { startsWithMark } from './json.js'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const BREAK = Buffer.from('\n')
const DATA = Buffer.from('data')
const DATA_START = Buffer.from('data: ')
// Far more than any server sends: bounds the memory that an event can take.
const MAX_LINES = 100_000

/** A piece of an event stream. */
export interface StreamPart {
  readonly bytes: Buffer
  /** `false` for a piece of an event that is longer than allowed. */
  readonly isWhole: boolean
  /** `false` while more pieces of the same event follow. */
  readonly isLast: boolean
}

/**
 * Cuts an event stream (HTML, 9.2), as it arrives, into events with their blank line, comments between events, and line
 * feeds after a carriage return. All parts joined give the same stream.
 */
export class EventSplitter {
  /** Bytes of the incomplete event. */
  held = 0
  private chunks: Buffer[] = []
  private isInLine = false
  private isComment = false
  private afterReturn = false
  private isTooLong = false

  constructor(private readonly maxLength: number) {}

  split(chunk: Buffer): StreamPart[] {
    const parts: StreamPart[] = []
    const breaks = new LineBreaks(chunk)
    let start = 0
    for (let line = 0; line < chunk.length; ) {
      const end = breaks.next(line)
      const isFirst = line === start && this.isAtStart
      if (end > line) this.continueLine(isFirst && chunk[line] === COLON)
      if (end === chunk.length) break
      line = end + 1
      if (!this.endsPart(chunk[end] ?? 0, isFirst)) continue
      parts.push(this.part(chunk.subarray(start, line), true))
      this.isTooLong = false
      start = line
    }
    if (start < chunk.length) this.hold(chunk.subarray(start))
    if (this.isTooLong && this.held > 0) parts.push(this.part(Buffer.alloc(0), false))
    return parts
  }

  /** The incomplete event at the end of the stream. */
  rest(): Buffer {
    const { chunks } = this
    this.chunks = []
    this.held = 0
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
  }

  private get isAtStart(): boolean {
    return this.held === 0 && !this.isTooLong
  }

  private hold(bytes: Buffer): void {
    this.chunks.push(bytes)
    this.held += bytes.length
    if (this.held > this.maxLength) this.isTooLong = true
  }

  private part(last: Buffer, isLast: boolean): StreamPart {
    if (last.length > 0) this.hold(last)
    return { isWhole: !this.isTooLong, isLast, bytes: this.rest() }
  }

  private continueLine(beginsComment: boolean): void {
    if (!this.isInLine) this.isComment = beginsComment
    this.isInLine = true
    this.afterReturn = false
  }

  private endsPart(lineBreak: number, isFirst: boolean): boolean {
    const isPair = lineBreak === LINE_FEED && this.afterReturn
    this.afterReturn = lineBreak === CARRIAGE_RETURN
    if (isPair) return isFirst
    const ends = !this.isInLine || this.isComment
    this.isInLine = false
    return ends
  }
}

/** Finds the line feeds and carriage returns of a text, in their order. */
class LineBreaks {
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

/** A line of an event, as positions. */
interface Line {
  /** Where the line before this one ends, without its line break. */
  readonly before: number
  readonly start: number
  readonly nameEnd: number
  readonly value: number
  /** Without the line break. */
  readonly end: number
  readonly next: number
}

/** One event: its data can be replaced, and the other lines stay. */
export class StreamEvent {
  private readonly lines: Line[] = []
  private readonly dataLines: readonly Line[]
  /** The event has more lines than any server sends, and was not parsed. */
  readonly isTooLong: boolean

  /** `isFirst`: only at the start of the stream a byte order mark is skipped. */
  constructor(
    private readonly bytes: Buffer,
    isFirst: boolean,
  ) {
    let start = isFirst && startsWithMark(bytes) ? 3 : 0
    const breaks = new LineBreaks(bytes)
    let before = start
    while (start < bytes.length && this.lines.length <= MAX_LINES) {
      const line = lineAt(bytes, start, breaks.next(start), before)
      this.lines.push(line)
      before = line.end
      start = line.next
    }
    this.isTooLong = this.lines.length > MAX_LINES
    this.dataLines = this.lines.filter((line) => this.isNamed(line, DATA))
  }

  /** The lines of its data, joined by line feeds; `undefined` when it has none. */
  get data(): Buffer | undefined {
    return this.joined(BREAK)
  }

  joined(separator: Buffer): Buffer | undefined {
    const { bytes, dataLines } = this
    const [first] = dataLines
    if (first === undefined) return undefined
    if (dataLines.length === 1) return bytes.subarray(first.value, first.end)
    return Buffer.concat(
      dataLines.flatMap(({ value, end }, index) =>
        index === 0 ? [bytes.subarray(value, end)] : [separator, bytes.subarray(value, end)],
      ),
    )
  }

  /** The values of all fields of this name. */
  field(name: string): string[] {
    const wanted = Buffer.from(name)
    return this.lines
      .filter((line) => this.isNamed(line, wanted))
      .map(({ value, end }) => this.bytes.toString('utf8', value, end))
  }

  /** The event with `text` as its data, one line of data for each line of the text. */
  with(text: Buffer): Buffer {
    const { bytes, dataLines } = this
    const [first] = dataLines
    if (first === undefined) return bytes
    const ending = first.next > first.end ? bytes.subarray(first.end, first.next) : BREAK
    const parts = [bytes.subarray(0, first.value)]
    // A line may be the bare name of the field.
    if (first.value === first.nameEnd) parts.push(DATA_START.subarray(DATA.length))
    let from = 0
    for (let at = text.indexOf(BREAK); at >= 0; at = text.indexOf(BREAK, from)) {
      parts.push(text.subarray(from, at), ending, DATA_START)
      from = at + 1
    }
    parts.push(text.subarray(from))
    let rest = first.end
    // Each line is removed with the line break before it: that one and the byte after the line's own break could
    // together be read as one line break.
    for (const { before, end } of dataLines.slice(1)) {
      parts.push(bytes.subarray(rest, before))
      rest = end
    }
    return Buffer.concat([...parts, bytes.subarray(rest)])
  }

  private isNamed({ start, nameEnd }: Line, name: Buffer): boolean {
    return nameEnd - start === name.length && this.bytes.compare(name, 0, name.length, start, nameEnd) === 0
  }
}

function lineAt(bytes: Buffer, start: number, end: number, before: number): Line {
  const isPair = bytes[end] === CARRIAGE_RETURN && bytes[end + 1] === LINE_FEED
  const next = Math.min(end + (isPair ? 2 : 1), bytes.length)
  const colon = bytes.subarray(start, end).indexOf(COLON)
  if (colon < 0) return { before, start, nameEnd: end, value: end, end, next }
  const nameEnd = start + colon
  const value = bytes[nameEnd + 1] === SPACE && nameEnd + 1 < end ? nameEnd + 2 : nameEnd + 1
  return { before, start, nameEnd, value, end, next }
}
