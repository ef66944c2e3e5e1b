/** Waits for `work`, but not longer than `limit` milliseconds: then `late` says what to throw. */
export async function within<T>(limit: number, work: PromiseLike<T>, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), limit)
  })
  try {
    return await Promise.race([work, deadline])
  } finally {
    clearTimeout(timer)
  }
}

/** What may be answered at once or later: only the latter costs a turn of the event loop. */
export const isPromise = <T>(answer: T | PromiseLike<T>): answer is PromiseLike<T> =>
  typeof (answer as { then?: unknown } | null | undefined)?.then === 'function'
