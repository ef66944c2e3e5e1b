import { BACKSLASH, CLOSE_LIST, CLOSE_OBJECT, COMMA, isSpace, QUOTE } from './json-tokens.js'

/** Nobody wants the text of such a token. */
export const UNWANTED = -1

/** A string of this length or more is searched natively: byte by byte its letters take ten times as long. */
const NEAR = 64
/** The most that is kept of a token in earlier chunks. */
const MAX_CARRIED = 4096

/** A string, number or literal of JSON that may arrive in several chunks, of which none is held. */
export class StreamedToken {
  kind: 'none' | 'string' | 'scalar' = 'none'
  private start = UNWANTED
  private end = 0
  /** Its bytes in earlier chunks, as latin1. */
  private carried = ''
  private hasEscape = false
  /** The next byte is: a backslash is the last one of the chunk before. */
  private isEscaped = false

  begin(kind: 'string' | 'scalar', start: number): void {
    this.kind = kind
    this.start = start
    this.carried = ''
    this.hasEscape = false
    this.isEscaped = false
  }

  /** Reads on from there, and returns where to go on; `kind` is `none` once the token has ended. */
  read(chunk: Buffer, from: number): number {
    return this.kind === 'string' ? this.readString(chunk, from) : this.readScalar(chunk, from)
  }

  /** Called at the end of each chunk in which a token is open. */
  carry(chunk: Buffer): void {
    const { start, carried } = this
    if (start < 0) return
    const room = MAX_CARRIED - carried.length
    this.carried = carried + chunk.toString('latin1', start, Math.min(chunk.length, start + room))
    this.start = 0
  }

  /**
   * The value of a string, or the text of a scalar, once it has ended in this chunk; `undefined` when it is longer than so
   * many bytes, each letter as an escape.
   */
  text(chunk: Buffer, maxLength: number): string | undefined {
    const { carried, start, end } = this
    const length = carried.length + end - start - 2
    if (length > (this.hasEscape ? maxLength * ESCAPE : maxLength)) return undefined
    const latin1 = carried + chunk.toString('latin1', start, end)
    const text = NOT_ASCII.test(latin1) ? Buffer.from(latin1, 'latin1').toString() : latin1
    if (!text.startsWith('"')) return text
    return text.includes('\\') ? unescaped(text) : text.slice(1, -1)
  }

  /** Whether the string that has ended in this chunk is this word. */
  spells(chunk: Buffer, word: string): boolean {
    const { carried, start, end } = this
    if (carried !== '' || this.hasEscape) return this.text(chunk, word.length) === word
    // Not as text: a small answer takes 0.5 microseconds, and not 1.
    if (end - start - 2 !== word.length) return false
    let index = 0
    while (index < word.length && chunk[start + 1 + index] === word.charCodeAt(index)) index++
    return index === word.length
  }

  private readString(chunk: Buffer, from: number): number {
    let at = from
    if (this.isEscaped) at++
    this.isEscaped = false
    for (let near = at + NEAR; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (byte === QUOTE) return this.endAt(at + 1)
      if (byte === BACKSLASH) {
        this.hasEscape = true
        if (++at === chunk.length) this.isEscaped = true
      } else if (at >= near) {
        at = beforeQuote(chunk, at)
        near = at + NEAR
      }
    }
    return chunk.length
  }

  private readScalar(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length && !endsScalar(chunk[at] ?? 0)) at++
    return at < chunk.length ? this.endAt(at) : at
  }

  private endAt(end: number): number {
    this.kind = 'none'
    this.end = end
    return end
  }
}

const ESCAPE = '\\u0000'.length

/** The byte before the next quote, or before the backslashes in front of it. */
function beforeQuote(chunk: Buffer, from: number): number {
  const quote = chunk.indexOf(QUOTE, from)
  let at = (quote < 0 ? chunk.length : quote) - 1
  while (at > from && chunk[at] === BACKSLASH) at--
  return at
}

const endsScalar = (byte: number): boolean =>
  byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST || isSpace(byte)

const NOT_ASCII = /[\x80-\xff]/

function unescaped(quoted: string): string | undefined {
  try {
    return JSON.parse(quoted)
  } catch {
    return undefined
  }
}
