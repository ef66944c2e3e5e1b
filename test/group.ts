import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { inspect } from 'node:util'

/** The results of one process of tests. */
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

// Arguments from `run.ts`: the file for the report, the milliseconds that a test may take, and the test files.
const [report = '', timeout, ...files] = process.argv.slice(2)
const root = join(import.meta.dirname, '..')
let [passed, skipped] = [0, 0]
const failures: Failure[] = []
const times: Record<string, number> = {}

// The real timers, before a test replaces them with a fake clock.
const { clearTimeout, setTimeout } = globalThis
// The runner's own time limit works only where each file has a process.
let limit: NodeJS.Timeout | undefined
for await (const { type, data } of run({ files, isolation: 'none' })) {
  if (type === 'test:dequeue') {
    clearTimeout(limit)
    // `unref`: the runner is done when nothing else keeps the process alive.
    limit = setTimeout(() => giveUp(data.file, data.name), Number(timeout)).unref()
  }
  if (type !== 'test:pass' && type !== 'test:fail') continue
  const file = pathOf(data.file)
  if (data.nesting === 0) times[file] = (times[file] ?? 0) + data.details.duration_ms
  if (data.details.type === 'suite') continue
  if (data.skip !== undefined && data.skip !== false) skipped++
  else if (type === 'test:pass') passed++
  else failures.push({ file, name: data.name, text: inspect(data.details.error.cause ?? data.details.error) })
}
clearTimeout(limit)
write()

function giveUp(file: string | undefined, name: string): never {
  failures.push({ file: pathOf(file), name, text: `the test has not ended after ${timeout} ms` })
  write()
  process.exit(1)
}

function write(): void {
  writeFileSync(report, JSON.stringify({ passed, skipped, failures, times } satisfies Report))
}

function pathOf(file = ''): string {
  return relative(root, file)
}
