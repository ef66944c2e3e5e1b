import { forAnyReader } from './line.js'

/** Lines of one request that may fill more than half of a queue. */
const FEW = 16

/** Lines that wait, in order, up to so many characters. */
export class LineQueue {
  private lines: string[] = []
  private first = 0
  private characters = 0
  private request: string | undefined
  private ofRequest = 0

  constructor(private readonly most: number) {}

  get length(): number {
    return this.lines.length - this.first
  }

  get size(): number {
    return this.characters
  }

  get isHalfFull(): boolean {
    return this.characters >= this.most / 2
  }

  /** False when the line does not fit. One request may have many lines: beyond the first few it leaves room to others. */
  add(line: string, request: string): boolean {
    this.ofRequest = request === this.request ? this.ofRequest + 1 : 1
    this.request = request
    if (this.ofRequest > FEW && this.isHalfFull) return false
    if (this.characters + line.length > this.most) return false
    this.lines.push(line)
    this.characters += line.length
    return true
  }

  /** The first lines, up to so many, and so many characters, but one at least. They stay until they are removed. */
  peek(count: number, characters: number): readonly string[] {
    let end = this.first
    for (let rest = characters; end < this.lines.length && end - this.first < count; end++) {
      rest -= this.lines[end]?.length ?? 0
      if (rest < 0 && end > this.first) break
    }
    return this.lines.slice(this.first, end).map(forAnyReader)
  }

  remove(count: number): void {
    const end = this.first + count
    for (let at = this.first; at < end; at++) this.characters -= this.lines[at]?.length ?? 0
    this.first = end
    // The slots in front are given back before they are as many as those in use.
    if (this.first * 2 < this.lines.length) this.lines.fill('', end - count, end)
    else {
      this.lines = this.lines.slice(this.first)
      this.first = 0
    }
  }
}
