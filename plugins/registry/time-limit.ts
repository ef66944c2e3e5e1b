import { within } from 'sallyport/toolkit'

/** Ends work after so many milliseconds, and with a signal. Work that ignores its own signal is not waited for. */
export async function timeLimited<T>(
  milliseconds: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer.throwIfAborted()
  const limit = new AbortController()
  const stop = (): void => limit.abort(outer.reason)
  outer.addEventListener('abort', stop, { once: true })
  const late = (): Error => {
    limit.abort(new Error(`it took longer than ${milliseconds / 1000} s`))
    return limit.signal.reason
  }
  try {
    return await within(milliseconds, work(limit.signal), late, outer)
  } finally {
    outer.removeEventListener('abort', stop)
  }
}
