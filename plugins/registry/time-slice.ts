import { setImmediate } from 'node:timers/promises'

// Long enough to get on, short enough that a request that comes meanwhile is not delayed.
const LONGEST_MS = 0.5

/** Cuts long work into slices: between them the event loop answers requests. */
export class TimeSlice {
  private since = performance.now()

  constructor(
    private readonly signal?: AbortSignal,
    private readonly longest = LONGEST_MS,
  ) {}

  /** Checked at every small step, so it is synchronous: a promise at each would cost more than the work. */
  get isOver(): boolean {
    return performance.now() - this.since > this.longest
  }

  throwIfAborted(): void {
    this.signal?.throwIfAborted()
  }

  /** Lets the event loop run, and begins the next slice. */
  async yield(): Promise<void> {
    this.throwIfAborted()
    await setImmediate()
    this.since = performance.now()
  }
}

// So many are sorted in less time than a slice has.
const AT_ONCE = 500

/** Sorts in time slices: parts by themselves, then merged in pairs. What is in order already costs little. */
export async function sorted<T extends object>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  timeSlice: TimeSlice,
): Promise<readonly T[]> {
  if (items.length <= AT_ONCE) return items.toSorted(compare)
  const middle = items.length >>> 1
  const left = await sorted(items.slice(0, middle), compare, timeSlice)
  const right = await sorted(items.slice(middle), compare, timeSlice)
  const merged: T[] = []
  let at = 0
  for (const item of left) {
    for (let next = right[at]; next !== undefined && compare(next, item) < 0; next = right[++at])
      merged.push(next)
    merged.push(item)
    if (timeSlice.isOver) await timeSlice.yield()
  }
  return merged.concat(right.slice(at))
}
