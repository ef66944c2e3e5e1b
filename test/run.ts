import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

// `npm test` runs every test; `npm test -- kernel proxy` those whose path holds one of the words.
// Node 20 finds no `.ts` file in a folder by itself and then calls that a success, so the list is made here.
const words = process.argv.slice(2)
const root = import.meta.dirname
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .map((file) => join(root, file))
  .sort()

if (files.length === 0) {
  process.stderr.write(`no test file matches ${words.join(' ')}\n`)
  process.exit(1)
}
const { status } = spawnSync(
  process.execPath,
  ['-C', 'source', '--import', 'tsx', '--test', '--test-reporter=spec', '--test-concurrency=2', ...files],
  { stdio: 'inherit' },
)
process.exit(status ?? 1)
