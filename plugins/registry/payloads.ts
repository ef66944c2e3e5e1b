import type { Fetched } from 'sallyport'
import { Arena } from './arena.js'
import type { Breath } from './breath.js'

/** What a source gave, in memory that may move to another thread. */
export interface Payloads {
  readonly chunks: readonly Uint8Array[]
  /** Of each payload: its chunk, where it starts and how long it is. Numbers, as there may be very many. */
  readonly places: readonly number[]
  /** In bytes. */
  readonly size: number
}

/** One payload, and where it lies. */
export interface Payload {
  readonly bytes: Uint8Array
  readonly chunk: number
  readonly start: number
}

export function* eachPayload({ chunks, places }: Payloads): Generator<Payload> {
  for (let at = 0; at < places.length; at += 3) {
    const [chunk = 0, start = 0, size = 0] = places.slice(at, at + 3)
    const bytes = chunks[chunk]?.subarray(start, start + size) ?? new Uint8Array()
    yield { bytes, chunk, start }
  }
}

type Given = Pick<Exclude<Fetched, { kind: 'unchanged' }>, 'payloads' | 'handedOver'>

// What is smaller may lie in memory that Node shares out in small pieces, which cannot move.
const WORTH_MOVING = 64 * 1024
const STEP = 64 * 1024

/** Takes what a source gives as it comes: its memory may be used for the next payload, unless it is handed over. */
export async function collected({ payloads, handedOver }: Given, breath: Breath): Promise<Payloads> {
  const arena = new Arena()
  const places: number[] = []
  let size = 0
  for await (const payload of payloads) {
    breath.mayGoOn()
    if (!(payload instanceof Uint8Array))
      throw new TypeError('a payload of the source is not bytes: Buffer.from makes them of text')
    size += payload.length
    const moves = handedOver === true && payload.length >= WORTH_MOVING
    const place = moves ? arena.adopt(payload) : arena.room(payload.length)
    places.push(place.chunk, place.start, place.size)
    for (let at = 0; at < payload.length && !moves; at += STEP) {
      arena.chunks[place.chunk]?.set(payload.subarray(at, at + STEP), place.start + at)
      if (breath.due) await breath.take()
    }
  }
  return { chunks: arena.chunks, places, size }
}

/** The memory behind pieces, for a list of what moves to another thread. */
export const buffersOf = (pieces: readonly Uint8Array[]): ArrayBuffer[] => [
  ...new Set(pieces.map(({ buffer }) => buffer).filter((buffer) => buffer instanceof ArrayBuffer)),
]
