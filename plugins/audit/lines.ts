/** Whole lines, one after the other. */
export interface Lines {
  readonly bytes: Buffer
  /** Bytes of each line, with its newline. */
  readonly lengths: readonly number[]
}

export function firstLines({ bytes, lengths }: Lines, count: number): Lines {
  if (count === lengths.length) return { bytes, lengths }
  const first = lengths.slice(0, count)
  return { bytes: bytes.subarray(0, sum(first)), lengths: first }
}

export function sum(lengths: readonly number[]): number {
  let total = 0
  for (const length of lengths) total += length
  return total
}
