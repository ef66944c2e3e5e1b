import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { on, once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, statSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'

// The built code, since many processes are started here.
const root = process.env['SALLYPORT_TEST_PACKAGE'] ?? join(import.meta.dirname, '../../..')
const node = [process.execPath, '--input-type=module', '-e']

/** Logs the number of lines that it reads from stdin, and writes the result each time. */
const logger = `
  import { createLog } from 'sallyport/embed'
  import { meterDroppedLines } from 'sallyport/embed'
  import { existsSync, readFileSync } from 'node:fs'
  import { createInterface } from 'node:readline'
  const io = '/proc/self/io'
  const written = () => (existsSync(io) ? Number(/syscw: (\\d+)/.exec(readFileSync(io, 'utf8'))[1]) : 0)
  let dropped = 0
  let number = 0
  let longest = 0
  const log = createLog()
  meterDroppedLines(log, { counter: () => (count) => (dropped += count) })
  for await (const line of createInterface({ input: process.stdin })) {
    const [count, end] = line.split(' ').map(Number)
    const before = written()
    for (let index = 0; index < count; index++) {
      const began = performance.now()
      log.info({ number: number++, padding: 'x'.repeat(200) }, 'line')
      longest = Math.max(longest, performance.now() - began)
    }
    process.stdout.write(JSON.stringify({ dropped, longest, writes: written() - before }) + '\\n')
    if (end !== undefined) process.exit(end)
  }
`

interface Line {
  readonly number?: number
  readonly lines?: number
}

interface Outcome {
  readonly dropped: number
  /** Milliseconds of the slowest line. */
  readonly longest: number
  /** On Linux: how often it wrote for the lines that were asked for. */
  readonly writes: number
}

const parsed = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** Every line is there once, in order, or the notice at its position counts it. */
function nothingUntold(lines: readonly Line[], most: number): number {
  let next = 0
  let missing = 0
  for (const { number, lines: left = 0 } of lines) {
    if (number === undefined) {
      next += left
      missing += left
    } else assert.equal(number, next++)
  }
  assert.equal(next, most)
  return missing
}

function started(t: TestContext, argv: readonly string[], stderr: 'pipe' | number) {
  const [command = '', ...rest] = argv
  const child: ChildProcess = spawn(command, rest, { cwd: root, stdio: ['pipe', 'pipe', stderr] })
  const ended = once(child, 'close')
  t.after(async () => {
    child.kill('SIGKILL')
    child.stderr?.resume()
    await ended
  })
  const { stdin, stdout } = child
  assert.ok(stdin !== null && stdout !== null)
  const answers = on(createInterface({ input: stdout }), 'line')
  return {
    child,
    ended,
    async ask(request: string): Promise<Outcome> {
      stdin.write(`${request}\n`)
      return JSON.parse(String((await answers.next()).value?.[0]))
    },
  }
}

/** A pipe of the system, where Node would make a socket: its end for writing, and a function that starts a reader. */
function pipe(t: TestContext): [number, () => Readable] {
  const file = join(folder(t), 'pipe')
  execFileSync('mkfifo', [file])
  const ends = [openSync(file, 'r+'), openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)] as const
  const reader = new Socket({ fd: ends[1], readable: true, writable: false }).pause()
  t.after(() => {
    closeSync(ends[0])
    reader.destroy()
  })
  return [ends[0], () => reader.resume()]
}

for (const kind of ['a socket', 'a pipe'] as const) {
  test(`a reader of ${kind} that does not read blocks no process, and gets the number of dropped lines`, async (t) => {
    const [writable, reader] = pipe(t)
    const { child, ask } = started(t, [...node, logger], kind === 'a pipe' ? writable : 'pipe')

    const { longest, dropped } = await ask('20000')

    assert.ok(longest < 500, `a line took ${longest} ms`)
    assert.ok(dropped > 5_000, `${dropped} lines were dropped`)
    assert.ok(dropped < 18_000, `${dropped} lines were dropped, where there is room for a megabyte`)
    let text = ''
    const stream = child.stderr ?? reader()
    stream.on('data', (chunk) => (text += String(chunk)))
    await eventually(() => text.includes('"lines":'))
    const left = once(child, 'exit')
    await ask('1 0')
    assert.deepEqual(await left, [0, null])
    await eventually(() => text.includes('"number":20000,'))
    assert.equal(nothingUntold(parsed(text), 20_001), dropped)
  })
}

test('the end of the process writes the waiting lines, if the reader reads', async (t) => {
  const { child, ask, ended } = started(t, [...node, logger], 'pipe')
  let text = ''
  await ask('3000')

  const left = once(child, 'exit')
  child.stderr?.on('data', (chunk) => (text += String(chunk)))
  await ask('100 3')

  assert.deepEqual(await left, [3, null])
  await ended
  assert.equal(nothingUntold(parsed(text), 3_100), 0)
})

test('a reader that never reads does not keep the process from ending', async (t) => {
  const { child, ask } = started(t, [...node, logger], 'pipe')
  const left = once(child, 'exit')

  await ask('3000 3')
  const began = performance.now()

  assert.deepEqual(await left, [3, null])
  const took = performance.now() - began
  assert.ok(took < 3_000, `it took ${took} ms`)
})

test('with a full disk logging does not throw, and every dropped line is counted', async (t) => {
  const { ask, ended } = started(t, [...node, logger], openSync('/dev/full', 'w'))

  assert.equal((await ask('100')).dropped, 100)
  assert.equal((await ask('1 2')).dropped, 101)

  assert.deepEqual(await ended, [2, null])
})

test('after a full disk the partly written line is completed, and the next line reports how many are missing', async (t) => {
  // Frees space without a disk of its own, which only root could mount.
  if (spawnSync('prlimit', ['--version']).error !== undefined) return t.skip('there is no prlimit here')
  const file = join(folder(t), 'log')
  const limited = ['sh', '-c', `ulimit -S -f 20; exec "$@" 2>>${file}`, 'sh', ...node, logger]
  const { child, ask, ended } = started(t, limited, 'pipe')

  const { dropped } = await ask('200')
  const full = statSync(file).size
  assert.ok(dropped > 0)
  assert.ok(!readFileSync(file, 'utf8').endsWith('\n'), 'a line is cut')
  spawnSync('prlimit', [`--pid=${child.pid}`, '--fsize=unlimited:'])

  await eventually(() => readFileSync(file, 'utf8').includes('"lines":'))
  assert.equal((await ask('1 0')).dropped, dropped)
  assert.deepEqual(await ended, [0, null])
  assert.ok(statSync(file).size > full)
  assert.equal(nothingUntold(parsed(readFileSync(file, 'utf8')), 201), dropped)
})

test('lines that come together are written together, and lines of several processes do not mix', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const [writable, reader] = pipe(t)
  let text = ''
  reader().on('data', (chunk) => (text += String(chunk)))
  const all = [0, 1, 2].map(() => started(t, [...node, logger], writable))

  for (let time = 0; time < 2; time++) {
    // Alone it takes about twenty; each one that finds the pipe full counts too.
    for (const { writes } of await Promise.all(all.map(({ ask }) => ask('500'))))
      assert.ok(writes < 250, `500 lines in ${writes} writes`)
  }

  await eventually(() => text.match(/"number":999,/g)?.length === 3)
  assert.equal(parsed(text).length, 3_000)
})

test('the process goes on without a stderr, or with a closed one', async (t) => {
  for (const closed of ['2>&-', '2</dev/null', '2> >(exit)']) {
    const { ask, ended } = started(t, ['bash', '-c', `exec "$@" ${closed}`, 'bash', ...node, logger], 'pipe')

    await ask('100')
    await ask('1 0')

    assert.deepEqual(await ended, [0, null], closed)
  }
})

test('a value that cannot be serialized does not throw', () => {
  const script = `
    import { createLog } from 'sallyport/embed'
    import { meterDroppedLines } from 'sallyport/embed'
    let dropped = 0
    const log = createLog({ stream: { write() { throw new Error('no') } } })
    log.warn('before anybody counts')
    meterDroppedLines(log, { counter: () => (count) => (dropped += count) })
    log.warn('it')
    log.child({ worker: 1 }).warn({ get it() { throw new Error('no') } }, 'it')
    meterDroppedLines(log, { counter: () => () => log.warn('counting fails too') })
    log.warn('it')
    console.log(dropped)
  `
  const { stdout, stderr } = spawnSync(process.execPath, [...node.slice(1), script], {
    cwd: root,
    encoding: 'utf8',
  })

  assert.equal(stdout, '3\n', stderr)
})
