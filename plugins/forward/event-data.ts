import { startsWithMark } from './json-start.js'
import { CARRIAGE_RETURN, LINE_FEED, LineBreaks } from './line-breaks.js'
import { malformedResponse } from './response-failures.js'

const COLON = 0x3a
const SPACE = 0x20
const FIELD = Buffer.from('data')
const BREAK = Buffer.from('\n')
// Far more than any server sends: it bounds the memory that an event can take.
const MAX_LINES = 100_000

/** A `data` line of an event, as positions. */
interface DataLine {
  /** Where the line before it ends, before that line's own ending. */
  readonly before: number
  readonly value: number
  /** Before the line's own ending. */
  readonly end: number
  readonly next: number
}

/** The data of one event (HTML, 9.2): it can be replaced, and the other lines stay. */
export class EventData {
  private readonly lines: DataLine[] = []

  /** A byte order mark counts as none at the start of the stream alone. */
  constructor(
    private readonly event: Buffer,
    isFirst: boolean,
  ) {
    let start = isFirst && startsWithMark(event) ? 3 : 0
    const breaks = new LineBreaks(event)
    let before = start
    while (start < event.length) {
      const line = lineAt(event, start, breaks.next(start))
      if (line.value >= 0 && this.lines.push({ ...line, before }) > MAX_LINES) throw malformedResponse()
      before = line.end
      start = line.next
    }
  }

  get text(): Buffer {
    const { event, lines } = this
    const [first] = lines
    if (first === undefined) return event.subarray(0, 0)
    if (lines.length === 1) return event.subarray(first.value, first.end)
    const values = lines.flatMap(({ value, end }, index) =>
      index === 0 ? [event.subarray(value, end)] : [BREAK, event.subarray(value, end)],
    )
    return Buffer.concat(values)
  }

  /** The event with this text, in as many lines as it has. */
  with(text: Buffer): Buffer {
    const { event, lines } = this
    const [first] = lines
    if (first === undefined) return event
    const ending = first.next > first.end ? event.subarray(first.end, first.next) : BREAK
    const parts = [event.subarray(0, first.value)]
    // A line may be the bare name of the field.
    if (event[first.value - 1] === FIELD.at(-1)) parts.push(COLON_SPACE)
    let from = 0
    for (let at = text.indexOf(BREAK); at >= 0; at = text.indexOf(BREAK, from)) {
      parts.push(text.subarray(from, at), ending, FIELD, COLON_SPACE)
      from = at + 1
    }
    parts.push(text.subarray(from))
    let rest = first.end
    // A line goes with the ending before it: that one and what follows its own could be one ending together.
    for (const { before, end } of lines.slice(1)) {
      parts.push(event.subarray(rest, before))
      rest = end
    }
    return Buffer.concat([...parts, event.subarray(rest)])
  }
}

const COLON_SPACE = Buffer.from(': ')

/** `value` is -1 for a line that is no data. */
function lineAt(event: Buffer, start: number, end: number): Omit<DataLine, 'before'> {
  const isPair = event[end] === CARRIAGE_RETURN && event[end + 1] === LINE_FEED
  const next = Math.min(end + (isPair ? 2 : 1), event.length)
  const named = start + FIELD.length
  if (named > end || event.compare(FIELD, 0, FIELD.length, start, named) !== 0) {
    return { value: -1, end, next }
  }
  if (named === end) return { value: named, end, next }
  if (event[named] !== COLON) return { value: -1, end, next }
  return { value: event[named + 1] === SPACE ? named + 2 : named + 1, end, next }
}
