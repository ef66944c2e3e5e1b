import assert from 'node:assert/strict'
import { createLog, type Log, type LogOptions } from 'sallyport'
import { reallyWait } from './fake-clock.js'

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

/** What `look` answers as soon as that is neither `undefined` nor `false`; so many seconds of real time at most. */
export async function eventually<T>(look: () => Awaitable<T | false | undefined>, seconds = 10): Promise<T> {
  for (const end = performance.now() + seconds * 1000; performance.now() < end; await reallyWait(10)) {
    const found = await look()
    if (found !== undefined && found !== false) return found
  }
  return assert.fail(`it did not happen within ${seconds} seconds`)
}
