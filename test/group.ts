import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { run } from 'node:test'
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

// `run.ts` starts it: the file for its report, milliseconds that a test may take, and the files of tests.
const [report = '', patience, ...files] = process.argv.slice(2)
const root = join(import.meta.dirname, '..')
let [passed, skipped] = [0, 0]
const failures: Failure[] = []
const times: Record<string, number> = {}

// The runner's own limit holds only where each file has a process.
let limit: NodeJS.Timeout | undefined
for await (const { type, data } of run({ files, isolation: 'none' })) {
  if (type === 'test:dequeue') {
    clearTimeout(limit)
    // The runner is done when nothing else keeps the process alive.
    limit = setTimeout(() => giveUp(data.file, data.name), Number(patience)).unref()
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
  failures.push({ file: pathOf(file), name, text: `it has not ended after ${patience} ms` })
  write()
  process.exit(1)
}

function write(): void {
  writeFileSync(report, JSON.stringify({ passed, skipped, failures, times } satisfies Report))
}

function pathOf(file = ''): string {
  return relative(root, file)
}
