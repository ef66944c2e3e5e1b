import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, styleText } from 'node:util'
import type { Failure, Report } from './group.js'

// `npm test` runs the fast tests, `npm run test:slow` the others. Both take words: they run files whose path holds one
// of them, without the files whose path holds a word after `!`.
const { values, positionals } = parseArgs({ options: { slow: { type: 'boolean' } }, allowPositionals: true })
const startedAt = performance.now()
const root = join(import.meta.dirname, '..')
const files = filesFor(positionals, values.slow === true)
if (files.length === 0) {
  process.stderr.write(`no test file matches ${positionals.join(' ')}\n`)
  process.exit(1)
}

// Tests that measure time or memory run alone on the machine.
const [alone, together] = [files.filter(isAlone), files.filter((file) => !isAlone(file))]
const reports = mkdtempSync(join(tmpdir(), 'sallyport-reports-'))
process.once('exit', () => rmSync(reports, { recursive: true, force: true }))
const total = { passed: 0, skipped: 0, failures: [] as Failure[], times: [] as [string, number][] }
let left = files.length
let started = 0

const FILES_IN_GROUP = 16
const TEST_TIMEOUT = values.slow === true ? 600_000 : 120_000
// More groups than cores: many tests wait for most of their time.
await runGroups(groupsOf(together), availableParallelism() * 2)
await runGroups(groupsOf(alone), 1)
printSummary()
process.exit(total.failures.length === 0 ? 0 : 1)

function filesFor(words: readonly string[], slow: boolean): readonly string[] {
  const wanted = words.filter((word) => !word.startsWith('!'))
  const without = words.filter((word) => word.startsWith('!')).map((word) => word.slice(1))
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => (slow ? isSlow(file) || hasProperties(file) : !isSlow(file)))
    .filter((file) => wanted.length === 0 || wanted.some((word) => file.includes(word)))
    .filter((file) => !without.some((word) => file.includes(word)))
    .toSorted()
}

function isAlone(file: string): boolean {
  return file.endsWith('.alone.test.ts')
}

function isSlow(file: string): boolean {
  return file.endsWith('.slow.test.ts') || isAlone(file)
}

/** `npm test` runs its properties few times, `npm run test:slow` all times. */
function hasProperties(file: string): boolean {
  return readFileSync(join(root, 'test', file), 'utf8').includes("'#kit/runs.js'")
}

/** Groups of files that share a process: each process has to load the gateway, whose code is slow at first. */
function groupsOf(paths: readonly string[]): readonly (readonly string[])[] {
  // A file that ends in `.apart.test.ts` changes global state of its process.
  const isApart = (path: string): boolean => isSlow(path) || path.endsWith('.apart.test.ts')
  const shared = paths.filter((path) => !isApart(path))
  const groups = Array.from({ length: Math.ceil(shared.length / FILES_IN_GROUP) }, (_, index) =>
    shared.slice(index * FILES_IN_GROUP, (index + 1) * FILES_IN_GROUP),
  )
  return [...paths.filter(isApart).map((path) => [path]), ...groups]
}

/** Runs all groups, `lanes` of them at once. */
async function runGroups(groups: readonly (readonly string[])[], lanes: number): Promise<void> {
  const waiting = [...groups]
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) await run(group)
    }),
  )
}

async function run(group: readonly string[]): Promise<void> {
  const report = join(reports, `${started++}.json`)
  const flags = ['-C', 'source', '--import', 'tsx', '--enable-source-maps']
  const argv = [join(import.meta.dirname, 'group.ts'), report, String(TEST_TIMEOUT)]
  const child = spawn(process.execPath, [...flags, ...argv, ...group.map((file) => join('test', file))], {
    cwd: root,
    env: { ...process.env, ...(values.slow === true && { SALLYPORT_SLOW: '1' }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)))
  const limit = setTimeout(() => child.kill('SIGKILL'), TEST_TIMEOUT * 4)
  const [code] = await once(child, 'close')
  clearTimeout(limit)
  left -= group.length
  record(group, code, output, reportIn(report))
}

function reportIn(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function record(
  group: readonly string[],
  code: number | null,
  output: string,
  report: Report | undefined,
): void {
  const failures = [...(report?.failures ?? [])]
  if (report === undefined || (code !== 0 && failures.length === 0))
    failures.push({
      file: group.join(', '),
      name: `the process ended with ${code}`,
      text: output.slice(-20_000),
    })
  total.passed += report?.passed ?? 0
  total.skipped += report?.skipped ?? 0
  total.times.push(...Object.entries(report?.times ?? {}))
  total.failures.push(...failures)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
  process.stdout.write(
    `${seconds.padStart(4)} s  ${report?.passed ?? 0} passed  ${group[0]}${group.length > 1 ? ` and ${group.length - 1} more` : ''}, ${left} files left\n`,
  )
  for (const failure of failures) process.stdout.write(textOf(failure))
}

/** The processor time of all ended processes, where /proc has it. */
function processorTime(): string {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/\(.*\) /, '')
      .split(' ')
    return `, ${Math.round(fields.slice(14, 16).reduce((sum, ticks) => sum + Number(ticks) / 100, 0))} s of processor time`
  } catch {
    return ''
  }
}

function textOf({ file, name, text }: Failure): string {
  return `${styleText('red', `failed: ${file}: ${name}`)}\n${text.replaceAll(/^/gm, '    ')}\n`
}

function printSummary(): void {
  const slowest = total.times.toSorted(([, one], [, other]) => other - one).slice(0, 10)
  process.stdout.write('\nthe files that took longest:\n')
  for (const [file, time] of slowest)
    process.stdout.write(`${(time / 1000).toFixed(1).padStart(7)} s  ${file}\n`)
  process.stdout.write('\n')
  for (const { file, name } of total.failures)
    process.stdout.write(`${styleText('red', 'failed')}: ${file}: ${name}\n`)
  const seconds = Math.round((performance.now() - startedAt) / 1000)
  process.stdout.write(`${files.length} files in ${seconds} s${processorTime()}\n`)
  process.stdout.write(`${total.passed} passed, ${total.failures.length} failed, ${total.skipped} skipped\n`)
}
