import { LineSplitter, TOO_LONG } from '../toolkit/line-splitter.js'

/** An event of a stream that has data. */
export interface StreamEvent {
  readonly name: string
  readonly data: Buffer
}

const SPACE = Buffer.from(' ')
const COLON = 0x3a
const CARRIAGE_RETURN = 0x0d
const MAX_UNJOINED = 1024

/** Parses an event stream (HTML, 9.2) as it arrives. Lines of data are joined by spaces, which JSON allows too. */
export class EventStreamParser {
  /** The last event's id, for `Last-Event-ID`. */
  id: string | undefined
  /** Milliseconds to wait before a reconnect, as the server set them. */
  retry: number | undefined
  private lines: LineSplitter
  private data: Buffer[] = []
  // Bytes of data, and buffers that are not joined yet: a line may have one byte, and its Buffer takes a hundred.
  private size = 0
  private unjoined = 0
  private name = ''
  private nextId: string | undefined
  private first = true
  private afterReturn = false

  constructor(private readonly maxLength: number) {
    this.lines = new LineSplitter(maxLength)
  }

  /** For a stream that resumes the one before: what was cut off there is no part of its first event. */
  restart(): void {
    this.lines = new LineSplitter(this.maxLength)
    this.clear()
    this.nextId = this.id
    this.first = true
    this.afterReturn = false
  }

  /** Yields `TOO_LONG` in place of an event that is longer than allowed. */
  *parse(chunk: Buffer): Generator<StreamEvent | typeof TOO_LONG> {
    for (const line of this.lines.split(this.withLineFeeds(chunk))) {
      if (line === TOO_LONG) this.size = Number.POSITIVE_INFINITY
      else if (line.length === 0) {
        const event = this.dispatch()
        if (event !== undefined) yield event
      } else this.field(line)
    }
  }

  private dispatch(): StreamEvent | typeof TOO_LONG | undefined {
    const { data, name, size } = this
    this.clear()
    this.id = this.nextId ?? this.id
    if (size > this.maxLength) return TOO_LONG
    if (data.length === 0) return undefined
    return { name: name === '' ? 'message' : name, data: Buffer.concat(data).subarray(1) }
  }

  private clear(): void {
    this.data = []
    this.size = 0
    this.unjoined = 0
    this.name = ''
  }

  private field(given: Buffer): void {
    const line = this.first && given.subarray(0, 3).toString('hex') === 'efbbbf' ? given.subarray(3) : given
    this.first = false
    const colon = line.indexOf(COLON)
    const name = line.toString('latin1', 0, colon < 0 ? line.length : colon)
    const start = colon < 0 ? line.length : colon + (line[colon + 1] === SPACE[0] ? 2 : 1)
    const value = line.subarray(start)
    if (name === 'data') this.appendData(value)
    else if (name === 'event') this.name = value.toString()
    else if (name === 'id' && !value.includes(0)) this.nextId = value.toString()
    else if (name === 'retry' && /^\d{1,9}$/.test(value.toString('latin1'))) this.retry = Number(value)
  }

  private appendData(value: Buffer): void {
    const { data } = this
    if (value.length === 0 && data.length === 0) return
    this.size += value.length + (data.length > 0 ? 1 : 0)
    if (this.size > this.maxLength) {
      this.data = []
      return
    }
    data.push(SPACE, value)
    this.unjoined += 2
    if (this.unjoined < MAX_UNJOINED) return
    data.push(Buffer.concat(data.splice(-this.unjoined)))
    this.unjoined = 0
  }

  /** CR and CRLF become LF. */
  private withLineFeeds(chunk: Buffer): Buffer {
    const rest = this.afterReturn && chunk[0] === 0x0a ? chunk.subarray(1) : chunk
    if (chunk.length > 0) this.afterReturn = chunk.at(-1) === CARRIAGE_RETURN
    if (!rest.includes(CARRIAGE_RETURN)) return rest
    return Buffer.from(rest.toString('latin1').replaceAll(/\r\n?/g, '\n'), 'latin1')
  }
}
