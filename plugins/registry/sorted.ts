import type { TimeSlice } from './time-slice.js'

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
