const QUOTE = 0x22
const BACKSLASH = 0x5c
const LONG = 64 * 1024
// The longest escape is six bytes, as in \u00e9.
const ESCAPE = 6

/**
 * JSON text with an empty string instead of each long one, which is validated here and not needed for routing. It saves
 * two copies of a large message. The parser validates the rest.
 */
export function shortenedJson(bytes: Buffer): string {
  const kept: string[] = []
  let copied = 0
  for (let start = bytes.indexOf(QUOTE); start >= 0; ) {
    const end = endOfString(bytes, start + 1)
    if (end < 0) break
    if (end - start > LONG) {
      checkString(bytes.subarray(start + 1, end))
      kept.push(bytes.toString('utf8', copied, start + 1))
      copied = end
    }
    start = bytes.indexOf(QUOTE, end + 1)
  }
  kept.push(bytes.toString('utf8', copied))
  return kept.join('')
}

function endOfString(bytes: Buffer, from: number): number {
  let end = bytes.indexOf(QUOTE, from)
  while (end >= 0 && (end - backslashesBefore(bytes, end, from)) % 2 === 1)
    end = bytes.indexOf(QUOTE, end + 1)
  return end
}

/** The start of the run of backslashes right before `offset`. */
function backslashesBefore(bytes: Buffer, offset: number, from: number): number {
  let start = offset
  while (start > from && bytes[start - 1] === BACKSLASH) start--
  return start
}

/** Throws for an invalid string, as a parser would. It reads Latin-1, since `readMessage` has checked for UTF-8. */
function checkString(inside: Buffer): void {
  for (let offset = 0; offset < inside.length; ) {
    const end =
      offset + LONG >= inside.length ? inside.length : lastOutsideEscape(inside, offset, offset + LONG)
    JSON.parse(`"${inside.toString('latin1', offset, end)}"`)
    offset = end
  }
}

/** The last position up to `offset` that is not inside an escape. `from` must not be inside one. */
function lastOutsideEscape(inside: Buffer, from: number, offset: number): number {
  const near = inside.subarray(offset - ESCAPE, offset).lastIndexOf(BACKSLASH)
  if (near < 0) return offset
  const last = offset - ESCAPE + near
  const run = backslashesBefore(inside, last, from)
  return last - ((last - run) % 2)
}
