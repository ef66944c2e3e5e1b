import { TOO_LONG } from '../toolkit/line-splitter.js'
import { EventSplitter, StreamEvent } from './events.js'

/** An event with data. */
export interface ParsedEvent {
  readonly name: string
  readonly data: Buffer
}

const SPACE = Buffer.from(' ')

/** Parses an event stream (HTML, 9.2) as it arrives. Lines of data are joined by spaces, which JSON allows too. */
export class EventStreamParser {
  /** The last event's id, for `Last-Event-ID`. */
  id: string | undefined
  /** Milliseconds to wait before a reconnect, if the server set them. */
  retry: number | undefined
  private splitter: EventSplitter
  private isFirst = true
  private isInLongEvent = false

  constructor(private readonly maxLength: number) {
    this.splitter = this.newSplitter()
  }

  /** For a stream that resumes the one before: an event that was cut off there is no part of its first event. */
  restart(): void {
    this.splitter = this.newSplitter()
    this.isFirst = true
    this.isInLongEvent = false
  }

  /** Yields `TOO_LONG` instead of an event that is longer than allowed. */
  *parse(chunk: Buffer): Generator<ParsedEvent | typeof TOO_LONG> {
    for (const { bytes, isWhole, isLast } of this.splitter.split(chunk)) {
      const event = isWhole ? new StreamEvent(bytes, this.isFirst) : undefined
      this.isFirst = false
      if (event?.isTooLong === false) yield* this.read(event)
      else if (!this.isInLongEvent) yield TOO_LONG
      this.isInLongEvent = !isLast
    }
  }

  private *read(event: StreamEvent): Generator<ParsedEvent | typeof TOO_LONG> {
    this.id = event.field('id').findLast((id) => !id.includes('\0')) ?? this.id
    const retry = event.field('retry').findLast((text) => /^\d{1,9}$/.test(text))
    if (retry !== undefined) this.retry = Number(retry)
    const data = event.joined(SPACE)
    if (data === undefined || isBlank(data)) return
    const name = event.field('event').at(-1) ?? ''
    if (data.length > this.maxLength) yield TOO_LONG
    else yield { name: name === '' ? 'message' : name, data }
  }

  /** Allows more than the data: an event also has the names of its lines, and other fields. */
  private newSplitter(): EventSplitter {
    return new EventSplitter(2 * this.maxLength + 1024)
  }
}

const isBlank = (data: Buffer): boolean => data.every((byte) => byte === SPACE[0])
