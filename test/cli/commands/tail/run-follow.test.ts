import assert from 'node:assert/strict'
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { cli, program } from '#kit/program.js'
import { noTerminal, onTerminal } from '#kit/spawned.js'
import { bin, startedProgram } from '#kit/started-program.js'
import { ids, idsIn, line, lines } from './events.js'

/** Follows a file, with what is there at first. */
function followed(t: TestContext, files: Readonly<Record<string, string>>, ...flags: string[]) {
  const place = join(folder(t, files), 'audit.jsonl')
  const tailing = program(t, ['tail', place, '--follow', ...flags])
  const { output } = tailing
  return {
    place,
    ...tailing,
    /** Waits until these lines, and no others, were printed. */
    async shows(expected: readonly string[]): Promise<void> {
      await eventually(() => idsIn(output.stdout).length >= expected.length, 30)
      assert.deepEqual(idsIn(output.stdout), expected, output.stderr)
    },
    async interrupted(signal: NodeJS.Signals = 'SIGINT'): Promise<number | null> {
      tailing.stop(signal)
      return tailing.ended()
    },
  }
}

test('new lines are shown until an interrupt, whole lines only', async (t) => {
  const tailing = followed(t, { 'audit.jsonl': `nonsense\n${lines(30)}` }, '-n', '2')
  await tailing.shows(ids(28, 30))
  const text = line({ requestId: 'r30' })
  appendFileSync(tailing.place, text.slice(0, 50))
  appendFileSync(tailing.place, `${text.slice(50)}\n${text.slice(0, 20)}`)
  await tailing.shows(ids(28, 31))
  appendFileSync(tailing.place, `${text.slice(20).replace('r30', 'r31')}\n`)
  await tailing.shows(ids(28, 32))

  assert.equal(await tailing.interrupted(), 0)
  assert.match(tailing.output.stderr, /^warning: .*: 1 line is no audit event, and was skipped\n$/)
  const other = followed(t, { 'audit.jsonl': lines(1) })
  await other.shows(ids(0, 1))
  assert.equal(await other.interrupted('SIGTERM'), 0)
})

test('tail waits for a file that does not exist yet', async (t) => {
  const tailing = followed(t, {})
  await tailing.until(/^warning: .*audit\.jsonl: there is no such file yet; tail waits for it\n$/)
  writeFileSync(tailing.place, lines(3))
  await tailing.shows(ids(0, 3))
  assert.equal(await tailing.interrupted(), 0)
})

test('a rotated file is not shown again when the new file appears', async (t) => {
  const tailing = followed(t, { 'audit.jsonl.1': lines(3) })
  await tailing.until(/tail waits for it/)
  writeFileSync(tailing.place, lines(2, 3))
  await tailing.shows(ids(3, 5))
})

test('a truncated file is read again from its beginning', async (t) => {
  const tailing = followed(t, { 'audit.jsonl': lines(3) })
  await tailing.shows(ids(0, 3))
  copyFileSync(tailing.place, `${tailing.place}.1`)
  truncateSync(tailing.place)
  await tailing.until(/was truncated, and is read again from its beginning/)
  appendFileSync(tailing.place, lines(2, 3))
  await tailing.shows(ids(0, 5))
})

test('lines of a writer that still writes to the renamed file are shown', async (t) => {
  const tailing = followed(t, { 'audit.jsonl': lines(3) })
  await tailing.shows(ids(0, 3))
  const old = openSync(tailing.place, 'a')
  t.after(() => closeSync(old))
  renameSync(tailing.place, `${tailing.place}.1`)
  writeSync(old, lines(1, 3))
  await tailing.shows(ids(0, 4))
  writeFileSync(tailing.place, lines(1, 4))
  await tailing.shows(ids(0, 5))
  writeSync(old, lines(1, 5))
  await tailing.shows(ids(0, 6))
})

test('an unfinished line that a sink overwrites with blanks hides no other line', async (t) => {
  const tailing = followed(t, { 'audit.jsonl': `${lines(1)}{"at":"2026` })
  await tailing.shows(ids(0, 1))
  const file = openSync(tailing.place, 'r+')
  t.after(() => closeSync(file))
  const fragment = statSync(tailing.place).size - 11
  writeSync(file, ' '.repeat(11), fragment)
  writeSync(file, lines(1, 1), fragment + 11)
  await tailing.shows(ids(0, 2))
  assert.equal(await tailing.interrupted(), 0)
  assert.equal(tailing.output.stderr, '')
})

/** Renames FILE to FILE.1, that to FILE.2, and so on, up to so many. */
function rotate(place: string, keep: number): void {
  const name = (number: number): string => (number === 0 ? place : `${place}.${number}`)
  for (let number = keep - 1; number >= 0; number--)
    if (existsSync(name(number))) renameSync(name(number), name(number + 1))
}

test('no line is lost or shown twice while the file is rotated, also several times between two looks', async (t) => {
  const tailing = followed(t, { 'audit.jsonl': lines(5), 'audit.jsonl.1': lines(2, 900) })
  await tailing.shows(ids(0, 5))
  let next = 5
  for (let round = 0; round < 400; round++) {
    // Sometimes there is no file between two rotations, and sometimes a line is written in two parts.
    const text = lines((round * 7) % 40, next)
    next += (round * 7) % 40
    const half = Math.floor(text.length / 3)
    appendFileSync(tailing.place, text.slice(0, half))
    if (round % 3 === 0) await turn()
    appendFileSync(tailing.place, text.slice(half))
    if (round % 5 < 2) rotate(tailing.place, 60)
    if (round % 20 === 0) await eventually(() => idsIn(tailing.output.stdout).length > next - 500)
  }
  await tailing.shows(ids(0, next))
  assert.equal(await tailing.interrupted(), 0)
  assert.equal(tailing.output.stderr, '')
})

test('tail begins with rotated files, and follows the file', async (t) => {
  const files = {
    'audit.jsonl': lines(2, 4),
    'audit.jsonl.1': lines(2, 2),
    'audit.jsonl.2': lines(2).trimEnd(),
  }
  const tailing = followed(t, files, '--rotated', '-n', 'all', '--outcome', 'allowed')
  await tailing.shows(ids(0, 6))
  appendFileSync(tailing.place, `${line({ outcome: 'failed' })}\n${lines(1, 6)}`)
  await tailing.shows(ids(0, 7))
})

test('a reader that closes the pipe ends tail at the next line', async (t) => {
  const place = join(folder(t, { 'audit.jsonl': lines(1) }), 'audit.jsonl')
  const { process: child, output, ended } = startedProgram(t, ['tail', place, '-f'])
  await eventually(() => output.stdout !== '')
  child.stdout?.destroy()
  appendFileSync(place, lines(1))
  assert.deepEqual([await ended(), output.stderr], [0, ''])
})

const skip = noTerminal

/** In a terminal. */
function inTerminal(t: TestContext, argv: readonly string[]) {
  const command = ['exec', process.execPath, bin, 'tail', ...argv].join(' ')
  const { PATH = '', HOME = '' } = process.env
  return onTerminal(t, command, { PATH, HOME, TERM: 'xterm-256color' })
}

test('a terminal shows colours, unless NO_COLOR is set, and Ctrl-C ends it with 0', { skip }, async (t) => {
  const events = (['allowed', 'denied', 'failed'] as const).map((outcome) => `${line({ outcome })}\n`)
  const place = join(folder(t, { 'audit.jsonl': events.join('') }), 'audit.jsonl')
  const { process: child, output, closed } = inTerminal(t, [place, '--follow'])
  await eventually(() => output.stdout.includes('! failed'), 30)
  for (const coloured of [
    '\x1b[32m+ allowed\x1b[39m',
    '\x1b[31mx denied \x1b[39m',
    '\x1b[33m! failed \x1b[39m',
  ])
    assert.ok(output.stdout.includes(coloured), JSON.stringify(output.stdout))
  child.stdin?.write('\x03')
  assert.equal((await closed)[0], 0)

  const plain = await cli(t, ['tail', place], { environment: { NO_COLOR: '1' }, columns: 80 })
  assert.equal(plain.code, 0)
  assert.ok(plain.stdout.includes('  x denied   corp/alice'))
  assert.ok(!plain.stdout.includes('\x1b'))
})

test('no line sends commands to the terminal, as JSON neither', async (t) => {
  const evil = '\u001b]0;pwned\u0007\u009b31m\u202e\u2028\u007f'
  // Some are escaped in JSON, others stand there as they are.
  const text = `${line({ subject: evil, mcp: { method: evil, kind: 'tool', name: evil }, requestId: evil })} \r\t\n`
  const place = join(folder(t, { 'audit.jsonl': text }), 'audit.jsonl')
  for (const flags of [[], ['--json']]) {
    const environment = { NO_COLOR: '1' }
    const { code, stdout } = await cli(t, ['tail', place, ...flags], { environment, columns: 80 })
    assert.equal(code, 0)
    assert.doesNotMatch(stdout.replaceAll('\n', ''), /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u, flags.join())
    assert.ok(stdout.includes('pwned'), flags.join())
    if (flags.join() === '--json') assert.deepEqual(JSON.parse(stdout), JSON.parse(text))
  }
})
