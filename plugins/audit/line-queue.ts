import { type Lines, sum } from './lines.js'

/** How many lines of one request may go into a queue that is half full. */
const ALWAYS_ADDED = 16
/** Bytes that an empty queue may keep allocated, and those of its first buffer. */
const [LARGE, SMALL] = [4 * 1024 * 1024, 64 * 1024] as const

/**
 * A queue of ASCII lines, up to `maxBytes`. They wait as bytes in one buffer, not as strings.
 */
export class LineQueue {
  private bytes = Buffer.alloc(0)
  /** The waiting lines are the bytes from `start` to `end`. */
  private start = 0
  private end = 0
  /** The length of each line; those before `first` are of removed lines. */
  private lengths: number[] = []
  private first = 0
  private request: string | undefined
  private linesOfRequest = 0

  constructor(private readonly maxBytes: number) {}

  get length(): number {
    return this.lengths.length - this.first
  }

  get size(): number {
    return this.end - this.start
  }

  get isHalfFull(): boolean {
    return this.size >= this.maxBytes / 2
  }

  /** False when the line does not fit. A request with many lines leaves half of the queue to other requests. */
  add(line: string, request: string): boolean {
    this.linesOfRequest = request === this.request ? this.linesOfRequest + 1 : 1
    this.request = request
    if (this.linesOfRequest > ALWAYS_ADDED && this.isHalfFull) return false
    if (this.size + line.length > this.maxBytes) return false
    this.makeRoom(line.length)
    this.end += this.bytes.write(line, this.end, 'latin1')
    this.lengths.push(line.length)
    return true
  }

  /** The first lines, within `count` and `bytes`, but at least one. Their bytes stay valid until `remove`. */
  peek(count: number, bytes: number): Lines {
    let last = this.first
    let size = 0
    for (; last < this.lengths.length && last - this.first < count; last++) {
      const length = this.lengths[last] ?? 0
      if (size + length > bytes && last > this.first) break
      size += length
    }
    return {
      bytes: this.bytes.subarray(this.start, this.start + size),
      lengths: this.lengths.slice(this.first, last),
    }
  }

  /** Removes the first lines. The bytes that `peek` returned must not be used afterwards. */
  remove(count: number): void {
    const last = this.first + count
    this.start += sum(this.lengths.slice(this.first, last))
    this.first = last
    // Drops the lengths of removed lines once they are half of the array.
    if (this.first * 2 >= this.lengths.length) {
      this.lengths = this.lengths.slice(this.first)
      this.first = 0
    }
    if (this.start * 2 < this.bytes.length) return
    if (this.size === 0 && this.bytes.length > LARGE) this.bytes = Buffer.alloc(0)
    else this.bytes.copyWithin(0, this.start, this.end)
    this.end = this.size
    this.start = 0
  }

  private makeRoom(length: number): void {
    if (this.end + length <= this.bytes.length) return
    const needed = this.size + length
    const room = Buffer.allocUnsafeSlow(Math.max(SMALL, needed, Math.min(needed * 2, this.maxBytes)))
    this.bytes.copy(room, 0, this.start, this.end)
    this.bytes = room
    this.end = this.size
    this.start = 0
  }
}
