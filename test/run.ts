import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { compiled } from './compiled.js'
import { filesIn, type Group, groupsOf, writeGroup } from './groups.js'

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

const sources = join(compiled(join(root, '..')), 'test')

// What measures time or memory has the machine for itself: its name ends in `.alone.test.ts`.
const alone = files.filter((file) => file.endsWith('.alone.test.ts'))
const together = files.filter((file) => !alone.includes(file))
// Many tests wait for something most of their time.
const failed = [...run(groupsOf(together), availableParallelism() * 2), ...run(singly(alone), 1)]
// A file that ran by itself has had its chance.
const again = files.length === 1 ? failed : tryAgain(failed)
process.exit(again.length === 0 ? 0 : 1)

/** Runs what failed beside others once more, by itself: a busy machine is no fault of the code. It is always told. */
function tryAgain(files: readonly string[]): readonly string[] {
  if (files.length === 0) return []
  process.stdout.write(`\nthese failed, and are tried again, one at a time:\n  ${files.join('\n  ')}\n\n`)
  const still = run(singly(files), 1)
  const passed = files.filter((file) => !still.includes(file))
  if (passed.length > 0)
    process.stdout.write(`\nfailed at first, passed by themselves:\n  ${passed.join('\n  ')}\n`)
  if (still.length > 0) process.stdout.write(`\nfailed twice:\n  ${still.join('\n  ')}\n`)
  return still
}

function singly(files: readonly string[]): readonly Group[] {
  return files.map((file) => [file])
}

/** Runs these files, each group in a process, and returns those that failed. */
function run(groups: readonly Group[], concurrency: number): readonly string[] {
  if (groups.length === 0) return []
  const report = join(sources, 'failed-files.txt')
  rmSync(report, { force: true })
  const { status } = spawnSync(
    process.execPath,
    [
      ...['-C', 'compiled', '--enable-source-maps', '--test', `--test-concurrency=${concurrency}`],
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...[`--test-reporter=${join(sources, 'failed-files.js')}`, `--test-reporter-destination=${report}`],
      // What hangs fails, and says where. It holds for a whole group too.
      '--test-timeout=480000',
      ...groups.map((group) => writeGroup(sources, group)),
    ],
    { stdio: 'inherit' },
  )
  if (status === 0) return []
  const told = existsSync(report) ? readFileSync(report, 'utf8').trim().split('\n') : []
  // By its source or by what was compiled of it: both have one name but for the extension.
  const paths = told.map((path) => relative(sources, path).replace(/\.js$/, '.ts'))
  const failed = new Set(paths.flatMap((path) => filesIn(path, groups)))
  // A failure that belongs to none of these files is one of the whole run.
  const all = groups.flat()
  return [...failed].every((file) => all.includes(file)) ? [...failed] : all
}
