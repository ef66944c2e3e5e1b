import type { FetchedDocuments } from 'sallyport'
import type { TimeSlice } from './time-slice.js'

/** The payloads of a source, in memory that can be transferred to another thread. */
export interface Payloads {
  readonly chunks: readonly Uint8Array[]
  /** Three numbers for each payload: chunk, start and size. */
  readonly locations: readonly number[]
  /** In bytes. */
  readonly size: number
}

export function* eachPayload({ chunks, locations }: Payloads): Generator<Uint8Array> {
  for (let at = 0; at < locations.length; at += 3) {
    const [chunk = 0, start = 0, size = 0] = locations.slice(at, at + 3)
    yield chunks[chunk]?.subarray(start, start + size) ?? new Uint8Array()
  }
}

// A smaller buffer may be in Node's shared pool, which cannot be transferred.
const MIN_ADOPTED = 64 * 1024
const CHUNK = 256 * 1024
const STEP = 64 * 1024

/**
 * Copies each payload before it requests the next, since sources may reuse the memory. A transferred payload is not
 * copied.
 */
export async function collected(
  { payloads, handedOver }: Pick<FetchedDocuments, 'payloads' | 'handedOver'>,
  timeSlice: TimeSlice,
): Promise<Payloads> {
  const chunks: Uint8Array[] = []
  const locations: number[] = []
  let size = 0
  let used = 0
  for await (const payload of payloads) {
    timeSlice.throwIfAborted()
    if (!(payload instanceof Uint8Array))
      throw new TypeError('a payload of the source is not bytes: Buffer.from makes them of text')
    const { length } = payload
    const isAdopted = handedOver === true && length >= MIN_ADOPTED
    if (isAdopted || used + length > (chunks.at(-1)?.length ?? 0)) {
      // Few and large chunks, because each transfer has a cost.
      chunks.push(isAdopted ? payload : Buffer.allocUnsafeSlow(Math.max(length, CHUNK)))
      used = 0
    }
    for (let at = 0; at < length && !isAdopted; at += STEP) {
      chunks.at(-1)?.set(payload.subarray(at, at + STEP), used + at)
      if (timeSlice.isOver) await timeSlice.yield()
    }
    locations.push(chunks.length - 1, used, length)
    used += length
    size += length
  }
  return { chunks, locations, size }
}

/** The buffers to transfer to another thread. */
export const buffersOf = (chunks: readonly Uint8Array[]): ArrayBuffer[] => [
  ...new Set(chunks.map(({ buffer }) => buffer).filter((buffer) => buffer instanceof ArrayBuffer)),
]
