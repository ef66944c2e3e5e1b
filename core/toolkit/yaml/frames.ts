import { buffer } from 'node:stream/consumers'

// One byte for the kind and four for the length.
const HEAD = 5

export const frameOf = (kind: number, bytes: Uint8Array): Buffer => {
  const head = Buffer.alloc(HEAD)
  head.writeUInt8(kind)
  head.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}

export interface Frame {
  readonly kind: number
  readonly bytes: Buffer
}

/** The frames of a stream, up to its end, without a truncated last one. */
export async function framesIn(stream: NodeJS.ReadableStream): Promise<readonly Frame[]> {
  const all = await buffer(stream)
  const frames: Frame[] = []
  for (let at = 0; at + HEAD <= all.length; ) {
    const end = at + HEAD + all.readUInt32BE(at + 1)
    if (end > all.length) break
    frames.push({ kind: all.readUInt8(at), bytes: all.subarray(at + HEAD, end) })
    at = end
  }
  return frames
}
