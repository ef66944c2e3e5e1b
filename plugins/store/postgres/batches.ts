// The driver encodes a batch in one go, and requests wait for that.
const BATCH_BYTES = 128 * 1024
const BATCH_ROWS = 1_000

/** What one statement writes at a time. */
export function* batches<T>(items: Iterable<T>, size: (item: T) => number): Generator<T[]> {
  let batch: T[] = []
  let bytes = 0
  for (const item of items) {
    batch.push(item)
    bytes += size(item)
    if (bytes < BATCH_BYTES && batch.length < BATCH_ROWS) continue
    yield batch
    batch = []
    bytes = 0
  }
  if (batch.length > 0) yield batch
}
