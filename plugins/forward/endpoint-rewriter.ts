// Longer than any URL that servers accept. A longer event passes as it is, so that little is held back.
const MAX_HELD = 16 * 1024

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
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
    if (!event.includes('endpoint')) return event
    // Bytes that are not UTF-8 have to come out as they were.
    const text = event.toString('latin1')
    const lines = (text.match(LINES) ?? []).map((line, index) => fieldOf(line, this.first && index === 0))
    if (lines.findLast(({ name }) => name === 'event')?.value !== 'endpoint') return event
    const data = lines.filter(({ name }) => name === 'data')
    const value = utf8(data.map((line) => line.value).join('\n'))
    const replacement = this.replacementFor(value)
    if (data.length === 0 || replacement === value) return event
    const changed = lines.map((line) => {
      if (line.name !== 'data') return line.text
      // A comment, as without the line the endings around it could be one ending together.
      return line === data[0] ? `${line.prefix}${latin1(replacement)}${line.ending}` : `:${line.ending}`
    })
    return Buffer.from(changed.join(''), 'latin1')
  }
}

const LINES = /[^\r\n]*(?:\r\n|\r|\n)/g
const FIELD = /^(\u00ef\u00bb\u00bf)?([^:\r\n]*)(?:(: ?)([^\r\n]*))?([\r\n]*)$/

/** A line by its parts; a byte order mark counts as none at the very start alone. */
function fieldOf(text: string, mayHaveMark: boolean) {
  const [, mark = '', name = '', colon = ':', value = '', ending = ''] = FIELD.exec(text) ?? []
  const wholeName = mayHaveMark ? name : mark + name
  return { text, name: wholeName, value, prefix: mark + name + colon, ending }
}

const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString()
const latin1 = (text: string): string => Buffer.from(text).toString('latin1')
