const FIRST_CHUNK = 4 * 1024
const LARGEST_CHUNK = 1024 * 1024

/** Bytes in an arena. */
export interface Slice {
  readonly chunk: Buffer
  readonly start: number
  readonly end: number
}

/**
 * Room for very many small texts. A `Buffer` for each would be work for the garbage collector at every turn, and the
 * pool that Node takes small ones from would be held by whatever passed through it meanwhile.
 */
export class Arena {
  #chunk = Buffer.alloc(0)
  #used = 0

  put(parts: readonly Uint8Array[]): Slice {
    const size = parts.reduce((sum, { length }) => sum + length, 0)
    if (this.#used + size > this.#chunk.length) this.grow(size)
    const start = this.#used
    for (const part of parts) {
      this.#chunk.set(part, this.#used)
      this.#used += part.length
    }
    return { chunk: this.#chunk, start, end: this.#used }
  }

  // Small at first, since a chunk lives as long as anything in it and most syncs bring little.
  private grow(least: number): void {
    const next = Math.min(Math.max(this.#chunk.length * 2, FIRST_CHUNK), LARGEST_CHUNK)
    this.#chunk = Buffer.allocUnsafeSlow(Math.max(next, least))
    this.#used = 0
  }
}
