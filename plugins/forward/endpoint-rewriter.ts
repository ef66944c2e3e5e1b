import { EventData } from './event-data.js'
import { startsWithMark } from './json-start.js'
import { CARRIAGE_RETURN, LINE_FEED } from './line-breaks.js'

// Longer than any URL that servers accept. A longer event passes as it is, so that little is held back.
const MAX_HELD = 16 * 1024

const COLON = 0x3a
const NOTHING = Buffer.alloc(0)

/**
 * Changes the data of `endpoint` events in an event stream (HTML, 9.2), and passes everything else byte for byte. An
 * event is held back until it is complete: its name may come after its data.
 */
export class EndpointRewriter {
  private held: Buffer = NOTHING
  private lineLength = 0
  private afterReturn = false
  /** What passes at once: the rest of a comment between events, or of an event that is too long. */
  private passing: 'nothing' | 'comment' | 'event' = 'nothing'
  private first = true

  constructor(private readonly replacementFor: (data: string) => string) {}

  rewrite(chunk: Buffer): Buffer {
    const bytes = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk])
    const passed: Buffer[] = []
    let start = 0
    for (let index = this.held.length; index < bytes.length; index++) {
      if (!this.endsPart(bytes, index, start)) continue
      const part = bytes.subarray(start, index + 1)
      passed.push(this.passing === 'nothing' ? this.rewritten(part) : part)
      this.passing = 'nothing'
      this.first = false
      start = index + 1
    }
    const rest = bytes.subarray(start)
    if (rest.length > MAX_HELD && this.passing === 'nothing') this.passing = 'event'
    this.held = this.passing === 'nothing' ? rest : NOTHING
    if (this.passing !== 'nothing') passed.push(rest)
    return passed.length === 1 && passed[0] !== undefined ? passed[0] : Buffer.concat(passed)
  }

  /** An event that the end of the stream has cut off. */
  end(): Buffer {
    const { held } = this
    this.held = NOTHING
    return held
  }

  /** Whether an event, a comment between events, or a line feed after them ends with this byte. */
  private endsPart(bytes: Buffer, index: number, start: number): boolean {
    const byte = bytes[index]
    const { afterReturn } = this
    this.afterReturn = byte === CARRIAGE_RETURN
    if (byte === LINE_FEED && afterReturn) return index === start && this.passing === 'nothing'
    if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) {
      if (byte === COLON && index === start && this.passing === 'nothing') this.passing = 'comment'
      this.lineLength++
      return false
    }
    const isBlank = this.lineLength === 0
    this.lineLength = 0
    return isBlank || this.passing === 'comment'
  }

  private rewritten(event: Buffer): Buffer {
    if (nameOf(event, this.first) !== 'endpoint') return event
    const data = new EventData(event, this.first)
    // A reference to the stream itself, or none.
    if (data.text.length === 0) return event
    const value = data.text.toString()
    const replacement = this.replacementFor(value)
    return replacement === value ? event : data.with(Buffer.from(replacement))
  }
}

/** The last name is the one that counts. */
function nameOf(event: Buffer, isFirst: boolean): string | undefined {
  if (!event.includes('endpoint')) return undefined
  const text = event.toString('latin1', isFirst && startsWithMark(event) ? 3 : 0)
  return [...text.matchAll(/^event(?:: ?(.*))?$/gm)].at(-1)?.[1]
}
