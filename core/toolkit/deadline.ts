/**
 * Waits for `work`, at most `limit` milliseconds and until `signal` aborts. `late` makes the error to throw after
 * the limit.
 */
export async function within<T>(
  limit: number,
  work: PromiseLike<T>,
  late: () => Error,
  signal?: AbortSignal,
): Promise<T> {
  let reject: (reason: unknown) => void = () => {}
  const ended = new Promise<never>((_, rejectPromise) => {
    reject = rejectPromise
  })
  const timer = setTimeout(() => reject(late()), limit)
  const abort = (): void => reject(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted === true) abort()
  try {
    return await Promise.race([work, ended])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** Waits until `work` has succeeded or failed, at most `limit` milliseconds. */
export const waitAtMost = (limit: number, work: PromiseLike<unknown>): Promise<void> =>
  within(limit, work, () => new Error('late')).then(
    () => {},
    () => {},
  )

/** Whether a result is a promise. Awaiting a value that is no promise would cost a turn of the event loop. */
export const isPromise = <T>(result: T | PromiseLike<T>): result is PromiseLike<T> =>
  typeof (result as { then?: unknown } | null | undefined)?.then === 'function'

/** Runs an observer: passes its error or rejection to `failed`, and throws nothing. */
export function runSafely(observe: () => unknown, failed: (error: unknown) => void): void {
  try {
    const result = observe()
    if (isPromise(result)) result.then(undefined, failed)
  } catch (error) {
    failed(error)
  }
}
