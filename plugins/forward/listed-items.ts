import type { McpList } from 'sallyport/toolkit'

/** Where the items of a list are in its text. An item without a usable name is in no array: it is always cut. */
export class ListedItems {
  readonly names: string[] = []
  private readonly starts: number[] = []
  private readonly ends: number[] = []
  /** Where the item before ends: the comma between them goes with the later one. */
  private readonly separators: number[] = []
  private first = -1
  private last = -1

  constructor(readonly shape: McpList) {}

  get isEmpty(): boolean {
    return this.first < 0
  }

  add(start: number, end: number, name: string | undefined): void {
    if (this.first < 0) {
      this.first = start
      this.last = start
    }
    if (name !== undefined) {
      this.names.push(name)
      this.separators.push(this.last)
      this.starts.push(start)
      this.ends.push(end)
    }
    this.last = end
  }

  /** Adds to `cuts`, as pairs of positions, what has to go for only the items shown to be left. */
  cut(shown: readonly boolean[], cuts: number[]): void {
    let kept = this.first
    let any = false
    for (const [index, start] of this.starts.entries()) {
      if (shown[index] !== true) continue
      const from = any ? (this.separators[index] ?? start) : start
      if (from > kept) cuts.push(kept, from)
      kept = this.ends[index] ?? start
      any = true
    }
    if (this.last > kept) cuts.push(kept, this.last)
  }
}

/** The bytes that no pair in `cuts` covers, with `"private"` in the place of each pair in `scopes`. */
export function edited(bytes: Buffer, cuts: readonly number[], scopes: readonly number[]): Buffer {
  const left = Buffer.allocUnsafe(bytes.length + scopes.length * PRIVATE.length)
  let length = 0
  let from = 0
  let scope = 0
  for (let index = 0; index <= cuts.length; index += 2) {
    const to = cuts[index] ?? bytes.length
    for (let at = scopes[scope]; at !== undefined && at < to; at = scopes[scope]) {
      length += bytes.copy(left, length, from, at)
      length += PRIVATE.copy(left, length)
      from = scopes[scope + 1] ?? at
      scope += 2
    }
    length += bytes.copy(left, length, from, to)
    from = cuts[index + 1] ?? bytes.length
  }
  return left.subarray(0, length)
}

const PRIVATE = Buffer.from('"private"')
