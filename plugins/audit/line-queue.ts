import { type Lines, sum } from './lines.js'

/** Lines of one request that may fill more than half of a queue. */
const FEW = 16
/** Room that an empty queue may keep, and that it begins with. */
const [LARGE, SMALL] = [4 * 1024 * 1024, 64 * 1024] as const

/**
 * Lines of ASCII that wait, in order, up to so many bytes. As bytes, and not as texts: those of a tenth of a second would
 * be copied by each collection of garbage, which costs a call more than making its line.
 */
export class LineQueue {
  private bytes = Buffer.alloc(0)
  /** The lines are between these two, with a length for each. */
  private start = 0
  private end = 0
  private lengths: number[] = []
  private first = 0
  private request: string | undefined
  private ofRequest = 0

  constructor(private readonly most: number) {}

  get length(): number {
    return this.lengths.length - this.first
  }

  get size(): number {
    return this.end - this.start
  }

  get isHalfFull(): boolean {
    return this.size >= this.most / 2
  }

  /** False when the line does not fit. One request may have many lines: beyond the first few it leaves room to others. */
  add(line: string, request: string): boolean {
    this.ofRequest = request === this.request ? this.ofRequest + 1 : 1
    this.request = request
    if (this.ofRequest > FEW && this.isHalfFull) return false
    if (this.size + line.length > this.most) return false
    this.makeRoom(line.length)
    this.end += this.bytes.write(line, this.end, 'latin1')
    this.lengths.push(line.length)
    return true
  }

  /** The first lines, up to so many, and so many bytes, but one at least. They stay, in these bytes, until they are removed. */
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

  /** Nobody uses the bytes of lines any more that were peeked. */
  remove(count: number): void {
    const last = this.first + count
    this.start += sum(this.lengths.slice(this.first, last))
    this.first = last
    // The slots in front are given back before they are as many as those in use.
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
    const room = Buffer.allocUnsafeSlow(Math.max(SMALL, needed, Math.min(needed * 2, this.most)))
    this.bytes.copy(room, 0, this.start, this.end)
    this.bytes = room
    this.end = this.size
    this.start = 0
  }
}
