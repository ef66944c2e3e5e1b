/** Each bucket is a twentieth wider than the one before: a percentile is right within a fortieth. */
const GROWTH = Math.log(1.05)
/** Milliseconds. What is faster counts as this, what takes longer than the last bucket, some 13 days, as that. */
const LEAST = 0.01
const BUCKETS = 523

/** Durations of any number in a fixed space: 2 KB, and there are up to 6,000. One of Node's `createHistogram` takes 40 KB. */
export class Histogram {
  private readonly counts = new Uint32Array(BUCKETS)
  private total = 0
  max = 0

  add(milliseconds: number): void {
    const bucket = Math.ceil(Math.log(Math.max(milliseconds, LEAST) / LEAST) / GROWTH)
    const index = Math.min(bucket, BUCKETS - 1)
    this.counts[index] = (this.counts[index] ?? 0) + 1
    this.total++
    this.max = Math.max(this.max, milliseconds)
  }

  addAll(other: Histogram): void {
    for (const [index, count] of other.counts.entries())
      this.counts[index] = (this.counts[index] ?? 0) + count
    this.total += other.total
    this.max = Math.max(this.max, other.max)
  }

  /** Milliseconds that this part of all took at most; `undefined` without any. */
  percentile(part: number): number | undefined {
    let left = Math.ceil(this.total * part)
    for (const [index, count] of this.counts.entries()) {
      left -= count
      if (count > 0 && left <= 0) return Math.min(LEAST * Math.exp(GROWTH * (index - 0.5)), this.max)
    }
    return undefined
  }
}
