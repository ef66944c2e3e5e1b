import { OPEN_LIST, OPEN_OBJECT } from './json-tokens.js'

/** Whether bytes begin with the byte order mark of UTF-8. */
export const startsWithMark = (bytes: Buffer): boolean =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf

/**
 * Whether clients could read JSON from bytes that begin so, in UTF-16 and UTF-32 too; `undefined` while there is nothing
 * but spaces, zeros and byte order marks. Some clients trim a text before they read it, and so of more than JSON's spaces.
 */
export function beginsJson(bytes: Buffer): boolean | undefined {
  for (const byte of bytes) {
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) return true
    if (!SKIPPED.has(byte)) return false
  }
  return undefined
}

// A chunk may end within a character: each of its bytes is skipped. U+3000 and a few more begin other texts too often.
const SPACES = ['\0\t\n\v\f\r ', '\u0085\u00a0\ufeff', '\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007']
const MORE_SPACES = ['\u2008\u2009\u200a\u200b\u2028\u2029\u202f\u205f\u2060', '\u1680\u3000']
const SKIPPED: ReadonlySet<number> = new Set([
  ...Buffer.from([...SPACES, ...MORE_SPACES].join('')),
  // A mark of UTF-16.
  ...[0xfe, 0xff],
])

const EVENT_LINE = /^(?:data|event|id|retry)?(?::|[\r\n]|$)/
const LONGEST_FIELD = 'event:'.length

/**
 * Whether clients could read an event stream from bytes that begin so; `undefined` while they are too few.
 */
export function beginsEvents(bytes: Buffer): boolean | undefined {
  const start = bytes.findIndex((byte) => !SKIPPED.has(byte))
  if (start < 0) return undefined
  const text = bytes.toString('latin1', start, start + LONGEST_FIELD)
  if (EVENT_LINE.test(text)) return text.length === LONGEST_FIELD || /[:\r\n]/.test(text) ? true : undefined
  return text.length < LONGEST_FIELD && FIELDS.some((field) => field.startsWith(text)) ? undefined : false
}

const FIELDS = ['data:', 'event:', 'id:', 'retry:']
