const QUOTE = 0x22
const BACKSLASH = 0x5c
const LONG = 64 * 1024
// The longest escape is six bytes, as in \u00e9.
const ESCAPE = 6

/**
 * JSON text with an empty string in place of each long one, which has been checked and is of no use for routing. It
 * spares a large message two copies of itself. Whether the rest is JSON is for a parser to say.
 */
export function outlineOf(bytes: Buffer): string {
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
  while (end >= 0 && (end - runBefore(bytes, end, from)) % 2 === 1) end = bytes.indexOf(QUOTE, end + 1)
  return end
}

/** Where the backslashes begin that stand right before a place. */
function runBefore(bytes: Buffer, at: number, from: number): number {
  let start = at
  while (start > from && bytes[start - 1] === BACKSLASH) start--
  return start
}

/** Throws as a parser would. Bytes are read as Latin-1: what they mean beyond ASCII is checked elsewhere. */
function checkString(inside: Buffer): void {
  for (let at = 0; at < inside.length; ) {
    const end = at + LONG >= inside.length ? inside.length : betweenEscapes(inside, at, at + LONG)
    JSON.parse(`"${inside.toString('latin1', at, end)}"`)
    at = end
  }
}

/** The last place up to `at` that stands in no escape, seen from a place that does not. */
function betweenEscapes(inside: Buffer, from: number, at: number): number {
  const near = inside.subarray(at - ESCAPE, at).lastIndexOf(BACKSLASH)
  if (near < 0) return at
  const last = at - ESCAPE + near
  const run = runBefore(inside, last, from)
  return last - ((last - run) % 2)
}
