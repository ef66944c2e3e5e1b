import { setImmediate } from 'node:timers/promises'

// Long enough to get on, short enough that a request that comes meanwhile does not notice.
const LONGEST_MS = 0.5

/** Cuts long work into slices: between them the event loop answers requests. */
export class Breath {
  #since = performance.now()

  constructor(private readonly signal?: AbortSignal) {}

  /** Whether it is time to let others go first. Asked for every small step, so it waits for nothing. */
  get due(): boolean {
    return performance.now() - this.#since > LONGEST_MS
  }

  async take(): Promise<void> {
    this.signal?.throwIfAborted()
    await setImmediate()
    this.#since = performance.now()
  }
}

/** A sorted copy, made in slices: short runs first, which are then merged two by two. */
export async function sortedInSlices<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  breath: Breath,
): Promise<T[]> {
  const run = 256
  let from: T[] = []
  for (let at = 0; at < items.length; at += run) {
    from.push(...items.slice(at, at + run).sort(compare))
    if (breath.due) await breath.take()
  }
  for (let width = run; width < from.length; width *= 2) {
    const to: T[] = []
    for (let start = 0; start < from.length; start += 2 * width) {
      const middle = Math.min(start + width, from.length)
      const end = Math.min(start + 2 * width, from.length)
      let left = start
      let right = middle
      while (left < middle || right < end) {
        const fromLeft = right >= end || (left < middle && compare(from[left] as T, from[right] as T) <= 0)
        to.push(from[fromLeft ? left++ : right++] as T)
        if (breath.due) await breath.take()
      }
    }
    from = to
  }
  return from
}
