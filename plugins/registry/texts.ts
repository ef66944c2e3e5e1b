import { Arena, type Place } from './arena.js'
import type { JsonScan, Span } from './json-scan.js'
import { bufferOver } from './names.js'
import type { Payload } from './payloads.js'

/**
 * Where the texts of new versions are written. Documents stay in the memory that they came in, moved together over what
 * was read already: of a large catalogue a second copy is a large part of all memory.
 */
export class Texts {
  readonly #payloads: readonly Buffer[]
  readonly #used: number[]
  readonly #arena: Arena

  /** `firstChunk`: the number of the first chunk here. */
  constructor(
    payloads: readonly Uint8Array[],
    private readonly firstChunk: number,
  ) {
    this.#payloads = payloads.map(bufferOver)
    this.#used = payloads.map(() => 0)
    this.#arena = new Arena(firstChunk + payloads.length)
  }

  /** The document without white space between its tokens. It holds until the next is moved, unless it is kept. */
  move(scan: JsonScan, span: Span, { chunk }: Payload): { readonly bytes: Buffer; readonly place: Place } {
    const payload = this.#payloads[chunk] ?? Buffer.alloc(0)
    const start = this.#used[chunk] ?? 0
    const end = scan.copyCompact(span, payload, start)
    return {
      bytes: payload.subarray(start, end),
      place: { chunk: this.firstChunk + chunk, start, size: end - start },
    }
  }

  /** Keeps what was moved last, and what is told of it. */
  keep({ chunk, start, size }: Place, told: Uint8Array): number[] {
    this.#used[chunk - this.firstChunk] = start + size
    const other = this.#arena.put(told)
    return [chunk, start, size, other.chunk, other.start, other.size]
  }

  chunks(): Uint8Array[] {
    const payloads = this.#payloads.map((payload, index) => trimmed(payload, this.#used[index] ?? 0))
    return [...payloads, ...this.#arena.chunks]
  }
}

/** A payload may be mostly white space, or what was known before. */
function trimmed(payload: Buffer, used: number): Buffer {
  if (used * 4 >= payload.length * 3) return payload
  const out = Buffer.allocUnsafeSlow(used)
  payload.copy(out, 0, 0, used)
  return out
}
