import { writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

/** What one process of tests found out. */
export interface Report {
  readonly passed: number
  readonly skipped: number
  readonly failures: readonly Failure[]
  /** Milliseconds that the tests of each file took, by its path. */
  readonly times: Readonly<Record<string, number>>
}

export interface Failure {
  readonly file: string
  readonly name: string
  readonly text: string
}

/** A reporter for `run.ts`: it writes a `Report` to the file that REPORT names. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const root = process.cwd()
  let [passed, skipped] = [0, 0]
  const failures: Failure[] = []
  const times: Record<string, number> = {}
  for await (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { name, nesting, file = '', details, skip } = event.data
    const path = relative(root, file)
    if (nesting === 0) times[path] = (times[path] ?? 0) + details.duration_ms
    if (details.type === 'suite') continue
    if (skip !== undefined && skip !== false) skipped++
    else if (event.type === 'test:pass') passed++
    else
      failures.push({
        file: path,
        name,
        text: inspect(event.data.details.error.cause ?? event.data.details.error),
      })
  }
  const { REPORT } = process.env
  if (REPORT === undefined) throw new Error('REPORT names no file')
  const whole: Report = { passed, skipped, failures, times }
  writeFileSync(REPORT, JSON.stringify(whole))
  yield ''
}
