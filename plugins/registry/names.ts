/** Names one behind the other, each with a separator behind it, and where each of them starts. */
export interface NameBytes {
  readonly names: Uint8Array
  /** The same in lower case. */
  readonly searchable: Uint8Array
  readonly nameStart: Uint32Array
}

// A byte that no text in UTF-8 has, so that nothing that is searched for reaches over two names.
const SEPARATOR = 0xff

/**
 * Names in their order. They are ASCII, so bytes stand for characters and sort as they do; as texts, very many of
 * them would be work for the garbage collector at every turn.
 */
export class NameList {
  readonly length: number
  readonly #names: Buffer
  readonly #searchable: Buffer
  readonly #start: Uint32Array

  constructor({ names, searchable, nameStart }: NameBytes) {
    this.length = nameStart.length - 1
    this.#names = bufferOver(names)
    this.#searchable = bufferOver(searchable)
    this.#start = nameStart
  }

  at(index: number): string {
    return this.#names.toString('latin1', this.start(index), this.end(index))
  }

  /** The first index whose name is not before `name`. */
  place(name: string): number {
    let low = 0
    let high = this.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.compareTo(middle, name) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  find(name: string): number | undefined {
    const index = this.place(name)
    return index < this.length && this.compareTo(index, name) === 0 ? index : undefined
  }

  /** The first index, from `from` on, whose name has `part` in it, in any case; `length` when there is none. */
  search(part: Buffer, from: number): number {
    if (from >= this.length || part.length === 0) return from
    const at = this.#searchable.indexOf(part, this.start(from))
    if (at === -1) return this.length
    let index = from
    while (this.end(index) < at) index++
    return index
  }

  compare(index: number, other: NameList, otherIndex: number): number {
    const [start, otherStart] = [this.start(index), other.start(otherIndex)]
    const [end, otherEnd] = [this.end(index), other.end(otherIndex)]
    return this.#names.compare(other.#names, otherStart, otherEnd, start, end)
  }

  /** Copies a name to the end of `out`, which ends at `at`; returns where it ends then. */
  copy(index: number, out: NameBytes, at: number): number {
    const [start, end] = [this.start(index), this.start(index + 1)]
    out.names.set(this.#names.subarray(start, end), at)
    out.searchable.set(this.#searchable.subarray(start, end), at)
    return at + end - start
  }

  private start(index: number): number {
    return this.#start[index] ?? 0
  }

  private end(index: number): number {
    return this.start(index + 1) - 1
  }

  private compareTo(index: number, name: string): number {
    const start = this.start(index)
    const length = this.end(index) - start
    const shorter = Math.min(length, name.length)
    for (let at = 0; at < shorter; at++) {
      const difference = (this.#names[start + at] ?? 0) - name.charCodeAt(at)
      if (difference !== 0) return difference
    }
    return length - name.length
  }
}

/** Writes the names of a list that is in order. */
export function nameBytesOf(names: readonly string[]): NameBytes {
  const size = names.reduce((sum, { length }) => sum + length + 1, 0)
  const bytes = { names: shared(size), searchable: shared(size), nameStart: sharedNumbers(names.length + 1) }
  const [exact, lower] = [bufferOver(bytes.names), bufferOver(bytes.searchable)]
  let at = 0
  for (const [index, name] of names.entries()) {
    bytes.nameStart[index] = at
    exact.write(name, at, 'latin1')
    lower.write(name.toLowerCase(), at, 'latin1')
    at += name.length
    exact[at] = SEPARATOR
    lower[at] = SEPARATOR
    at++
  }
  bytes.nameStart[names.length] = at
  return bytes
}

export const shared = (size: number): Uint8Array => new Uint8Array(new SharedArrayBuffer(size))

export const sharedNumbers = (length: number): Uint32Array =>
  new Uint32Array(new SharedArrayBuffer(length * Uint32Array.BYTES_PER_ELEMENT))

export const bufferOver = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)
