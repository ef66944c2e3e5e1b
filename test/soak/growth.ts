/** A value of a process at one time. */
export interface Sample {
  /** Milliseconds since the start. */
  readonly at: number
  readonly value: number
}

const WINDOWS = 8

/**
 * How much a value grew over all samples. Memory rises and falls between two garbage collections, so only the least
 * value of each of eight windows counts. The slope is the median of the slopes between any two of them (Theil-Sen), so
 * that one wrong window does not decide.
 */
export function growth(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined) return 0
  const span = last.at - first.at
  const floors = Array.from({ length: WINDOWS }, (_, index) => {
    const [from, to] = [index, index + 1].map((part) => first.at + (span * part) / WINDOWS)
    const some = samples.filter(({ at }) => at >= (from ?? 0) && at <= (to ?? 0))
    return some.toSorted((a, b) => a.value - b.value)[0]
  }).filter((sample) => sample !== undefined)
  const slopes = floors.flatMap((one, index) =>
    floors.slice(index + 1).map((other) => (other.value - one.value) / (other.at - one.at)),
  )
  const middle = slopes.filter(Number.isFinite).toSorted((a, b) => a - b)
  return (middle[Math.floor(middle.length / 2)] ?? 0) * span
}
