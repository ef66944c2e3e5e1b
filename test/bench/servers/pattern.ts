const SIZE = 64 * 1024
const block = Buffer.from(Array.from({ length: SIZE }, (_, index) => (index * 31 + (index >> 8)) & 0xff))
const twice = Buffer.concat([block, block])

/** A body of this size in which every byte follows from its offset. */
export function* pattern(size: number): Generator<Buffer> {
  for (let sent = 0; sent < size; sent += SIZE) yield block.subarray(0, Math.min(SIZE, size - sent))
}

/** Returns the length of a body; throws when it differs from the pattern. */
export async function patterned(stream: AsyncIterable<Buffer>): Promise<number> {
  let at = 0
  for await (const chunk of stream) {
    for (let from = 0; from < chunk.length; from += SIZE) {
      const part = chunk.subarray(from, from + SIZE)
      const start = (at + from) % SIZE
      if (twice.compare(part, 0, part.length, start, start + part.length) !== 0) {
        throw new Error(`the body differs from the pattern, between ${at} and ${at + chunk.length}`)
      }
    }
    at += chunk.length
  }
  return at
}
