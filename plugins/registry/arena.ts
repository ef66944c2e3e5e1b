const SMALLEST_CHUNK = 4 * 1024
export const LARGEST_CHUNK = 1024 * 1024

/** Where bytes lie: in which chunk, from where, how many. */
export interface Place {
  readonly chunk: number
  readonly start: number
  readonly size: number
}

/**
 * Room for very many small texts. A `Buffer` for each would be work for the garbage collector at every turn, and a
 * few large pieces of memory move from thread to thread without being copied.
 */
export class Arena {
  readonly chunks: Uint8Array[] = []
  #used = 0

  constructor(private readonly firstChunk = 0) {}

  /** Bytes that nobody has written yet. */
  room(size: number): Place {
    const last = this.chunks.at(-1)
    if (last === undefined || this.#used + size > last.length) this.grow(size, last?.length ?? 0)
    const start = this.#used
    this.#used += size
    return { chunk: this.last, start, size }
  }

  put(bytes: Uint8Array): Place {
    const place = this.room(bytes.length)
    this.chunks.at(-1)?.set(bytes, place.start)
    return place
  }

  /** Takes over a whole piece of memory as it is. */
  adopt(bytes: Uint8Array): Place {
    this.chunks.push(bytes)
    this.#used = bytes.length
    return { chunk: this.last, start: 0, size: bytes.length }
  }

  private get last(): number {
    return this.firstChunk + this.chunks.length - 1
  }

  // Small at first, since a chunk lives as long as anything in it and most syncs bring little.
  private grow(least: number, before: number): void {
    const next = Math.min(Math.max(before * 2, SMALLEST_CHUNK), LARGEST_CHUNK)
    this.chunks.push(Buffer.allocUnsafeSlow(Math.max(next, least)))
    this.#used = 0
  }
}
