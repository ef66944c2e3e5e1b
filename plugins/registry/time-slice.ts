import { setImmediate } from 'node:timers/promises'

// Milliseconds: long enough to make progress, short enough not to delay a request.
const LONGEST_MS = 0.5

/** Cuts long work into slices: between them the event loop answers requests. */
export class TimeSlice {
  private since = performance.now()

  constructor(
    private readonly signal?: AbortSignal,
    private readonly longest = LONGEST_MS,
  ) {}

  /** Synchronous, because callers check it at every small step: a promise at each would cost more than the work. */
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

// Sorting so many items takes less than one slice.
const AT_ONCE = 500

/** Sorts in time slices: sorts parts, then merges them in pairs. Items that are already in order cost little. */
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
