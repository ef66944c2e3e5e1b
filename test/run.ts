import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, styleText } from 'node:util'
import type { Failure, Report } from './group.js'

// `npm test` runs every test that a person waits for, `npm run test:slow` the others, and both take words: files whose path
// holds one of them, without those that hold a word after `!`.
const { values, positionals } = parseArgs({ options: { slow: { type: 'boolean' } }, allowPositionals: true })
const began = performance.now()
const root = join(import.meta.dirname, '..')
const files = filesFor(positionals, values.slow === true)
if (files.length === 0) {
  process.stderr.write(`no test file matches ${positionals.join(' ')}\n`)
  process.exit(1)
}

// What measures time or memory has the machine for itself.
const [alone, together] = [files.filter(isAlone), files.filter((file) => !isAlone(file))]
const reports = mkdtempSync(join(tmpdir(), 'sallyport-reports-'))
process.once('exit', () => rmSync(reports, { recursive: true, force: true }))
const total = { passed: 0, skipped: 0, failures: [] as Failure[], times: [] as [string, number][] }
let left = files.length
let started = 0

const LARGEST = 16
const PATIENCE = values.slow === true ? 600_000 : 120_000
// Many tests wait for something most of their time.
await inTurn(groupsOf(together), availableParallelism() * 2)
await inTurn(groupsOf(alone), 1)
tell()
process.exit(total.failures.length === 0 ? 0 : 1)

function filesFor(asked: readonly string[], slow: boolean): readonly string[] {
  const words = asked.filter((word) => !word.startsWith('!'))
  const without = asked.filter((word) => word.startsWith('!')).map((word) => word.slice(1))
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => (slow ? isSlow(file) || hasProperties(file) : !isSlow(file)))
    .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
    .filter((file) => !without.some((word) => file.includes(word)))
    .toSorted()
}

function isAlone(file: string): boolean {
  return file.endsWith('.alone.test.ts')
}

function isSlow(file: string): boolean {
  return file.endsWith('.slow.test.ts') || isAlone(file)
}

/** Its properties run few times where a person waits. */
function hasProperties(file: string): boolean {
  return readFileSync(join(root, 'test', file), 'utf8').includes("'#kit/runs.js'")
}

/** Files that share a process: each process has to load the gateway, and runs it slowly until its code is warm. */
function groupsOf(paths: readonly string[]): readonly (readonly string[])[] {
  // One that ends in `.apart.test.ts` changes what the others of its process would see.
  const isApart = (path: string): boolean => isSlow(path) || path.endsWith('.apart.test.ts')
  const shared = paths.filter((path) => !isApart(path))
  const groups = Array.from({ length: Math.ceil(shared.length / LARGEST) }, (_, index) =>
    shared.slice(index * LARGEST, (index + 1) * LARGEST),
  )
  return [...paths.filter(isApart).map((path) => [path]), ...groups]
}

/** Runs the groups, so many at once. */
async function inTurn(groups: readonly (readonly string[])[], lanes: number): Promise<void> {
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
  const argv = [join(import.meta.dirname, 'group.ts'), report, String(PATIENCE)]
  const child = spawn(process.execPath, [...flags, ...argv, ...group.map((file) => join('test', file))], {
    cwd: root,
    env: { ...process.env, ...(values.slow === true && { SALLYPORT_SLOW: '1' }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)))
  const limit = setTimeout(() => child.kill('SIGKILL'), PATIENCE * 4)
  const [code] = await once(child, 'close')
  clearTimeout(limit)
  left -= group.length
  note(group, code, output, reportIn(report))
}

function reportIn(path: string): Report | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function note(
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
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  process.stdout.write(
    `${seconds.padStart(4)} s  ${report?.passed ?? 0} passed  ${group[0]}${group.length > 1 ? ` and ${group.length - 1} more` : ''}, ${left} files left\n`,
  )
  for (const failure of failures) process.stdout.write(textOf(failure))
}

/** That of all the processes that have ended, where the system tells. */
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

function tell(): void {
  const slowest = total.times.toSorted(([, one], [, other]) => other - one).slice(0, 10)
  process.stdout.write('\nthe files that took longest:\n')
  for (const [file, time] of slowest)
    process.stdout.write(`${(time / 1000).toFixed(1).padStart(7)} s  ${file}\n`)
  process.stdout.write('\n')
  for (const { file, name } of total.failures)
    process.stdout.write(`${styleText('red', 'failed')}: ${file}: ${name}\n`)
  const seconds = Math.round((performance.now() - began) / 1000)
  process.stdout.write(`${files.length} files in ${seconds} s${processorTime()}\n`)
  process.stdout.write(`${total.passed} passed, ${total.failures.length} failed, ${total.skipped} skipped\n`)
}
