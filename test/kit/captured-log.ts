import assert from 'node:assert/strict'
import type { Log } from 'sallyport'
import { createLog, type LogOptions } from 'sallyport/embed'
import { reallyElapsed, reallyWait } from './fake-clock.js'

export interface CapturedLog {
  readonly log: Log
  readonly lines: readonly string[]
  /** Resolves when a line matches. */
  until(pattern: RegExp): Promise<string>
}

type Awaitable<T> = T | Promise<T>

export function capturedLog(options: LogOptions = {}): CapturedLog {
  const lines: string[] = []
  const log = createLog({
    level: 'debug',
    ...options,
    stream: { write: (line) => lines.push(line) },
  })
  return {
    log,
    lines,
    until: (pattern) => eventually(() => lines.find((line) => pattern.test(line))),
  }
}

/** Calls `look` until its result is neither `undefined` nor `false`; fails after so many seconds of real time. */
export async function eventually<T>(look: () => Awaitable<T | false | undefined>, seconds = 30): Promise<T> {
  for (const end = reallyElapsed() + seconds * 1000; reallyElapsed() < end; await reallyWait(10)) {
    const found = await look()
    if (found !== undefined && found !== false) return found
  }
  return assert.fail(`it did not happen within ${seconds} seconds`)
}
