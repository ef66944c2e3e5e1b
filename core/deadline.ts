/** Waits for `work`, but not longer than `limit` milliseconds, nor beyond an abort: `late` says what to throw. */
export async function within<T>(
  limit: number,
  work: PromiseLike<T>,
  late: () => Error,
  signal?: AbortSignal,
): Promise<T> {
  let giveUp: (reason: unknown) => void = () => {}
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = reject
  })
  const timer = setTimeout(() => giveUp(late()), limit)
  const interrupt = (): void => giveUp(signal?.reason)
  signal?.addEventListener('abort', interrupt, { once: true })
  if (signal?.aborted === true) interrupt()
  try {
    return await Promise.race([work, givenUp])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', interrupt)
  }
}

/** What may be answered at once or later: only the latter costs a turn of the event loop. */
export const isPromise = <T>(answer: T | PromiseLike<T>): answer is PromiseLike<T> =>
  typeof (answer as { then?: unknown } | null | undefined)?.then === 'function'

/** Runs what only watches: whether it throws or rejects, nobody else notices. */
export function harmless(watch: () => unknown, failed: (error: unknown) => void): void {
  try {
    const answer = watch()
    if (isPromise(answer)) answer.then(undefined, failed)
  } catch (error) {
    failed(error)
  }
}
