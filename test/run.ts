import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

// `npm test` runs every test; `npm test -- kernel proxy` those whose path holds one of the words, and `!alone` among
// them leaves out those that hold it.
// Node 20 finds no `.ts` file in a folder by itself and then calls that a success, so the list is made here.
const asked = process.argv.slice(2)
const words = asked.filter((word) => !word.startsWith('!'))
const left = asked.filter((word) => word.startsWith('!')).map((word) => word.slice(1))
const root = import.meta.dirname
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .filter((file) => !left.some((word) => file.includes(word)))
  .toSorted()

if (files.length === 0) {
  process.stderr.write(`no test file matches ${asked.join(' ')}\n`)
  process.exit(1)
}

// Programs are tested as they are published.
const bundled = spawnSync('npm', ['run', '--silent', 'bundle'], { cwd: join(root, '..'), stdio: 'inherit' })
if (bundled.status !== 0) process.exit(1)

// What measures time or memory has the machine for itself: its name ends in `.alone.test.ts`.
const alone = files.filter((file) => file.endsWith('.alone.test.ts'))
const together = files.filter((file) => !alone.includes(file))
const passed = [run(together, 2), run(alone, 1)]
process.exit(passed.every(Boolean) ? 0 : 1)

function run(some: readonly string[], concurrency: number): boolean {
  if (some.length === 0) return true
  const { status } = spawnSync(
    process.execPath,
    [
      ...['-C', 'source', '--import', 'tsx', '--test', '--test-reporter=spec'],
      `--test-concurrency=${concurrency}`,
      // What hangs fails, and says where.
      '--test-timeout=240000',
      ...some.map((file) => join(root, file)),
    ],
    { stdio: 'inherit' },
  )
  return status === 0
}
