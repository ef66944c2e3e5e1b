const SIZE = 64 * 1024
const block = Buffer.from(Array.from({ length: SIZE }, (_, index) => (index * 31 + (index >> 8)) & 0xff))
const twice = Buffer.concat([block, block])

/** A body of this size whose every byte follows from its place. */
export function* pattern(size: number): Generator<Buffer> {
  for (let sent = 0; sent < size; sent += SIZE) yield block.subarray(0, Math.min(SIZE, size - sent))
}

/** The length of a body; an error when it is not the pattern from its first byte to its last. */
export async function patterned(stream: AsyncIterable<Buffer>): Promise<number> {
  let at = 0
  for await (const chunk of stream) {
    for (let from = 0; from < chunk.length; from += SIZE) {
      const part = chunk.subarray(from, from + SIZE)
      const place = (at + from) % SIZE
      if (twice.compare(part, 0, part.length, place, place + part.length) !== 0) {
        throw new Error(`other bytes than were sent, between ${at} and ${at + chunk.length}`)
      }
    }
    at += chunk.length
  }
  return at
}
