/**
 * Converts any text to bytes, and back. A column of type `text` refuses NUL, and UTF-8 has no half surrogates, so both
 * are escaped as in JSON.
 */
export const bytesOf = (text: string): Buffer => Buffer.from(JSON.stringify(text).slice(1, -1))

export const textOf = (bytes: Uint8Array): string => JSON.parse(`"${Buffer.from(bytes).toString()}"`)

/** Not by `Buffer.concat`: other buffers may share its memory, which then cannot be transferred to a thread. */
export function joined(parts: readonly Uint8Array[]): Buffer<ArrayBuffer> {
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((sum, { length }) => sum + length, 0))
  let start = 0
  for (const part of parts) {
    bytes.set(part, start)
    start += part.length
  }
  return bytes
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

/** A JSON list. */
export const listOf = (elements: readonly Uint8Array[]): Buffer<ArrayBuffer> =>
  joined([OPEN, ...elements.flatMap((each, index) => (index === 0 ? [each] : [COMMA, each])), CLOSE])
