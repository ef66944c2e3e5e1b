import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { cli, program } from '#kit/program.js'
import { bin } from '#kit/started-program.js'
import { ids, idsIn, line, lines } from './events.js'

async function tail(t: TestContext, files: Readonly<Record<string, string>>, ...flags: string[]) {
  const home = folder(t, files)
  const tailing = program(t, ['tail', join(home, 'audit.jsonl'), ...flags], {
    environment: { TZ: 'Asia/Tokyo' },
  })
  const code = await tailing.ended()
  return { code, ...tailing.output, place: join(home, 'audit.jsonl') }
}

const AT = '2026-01-31T09:08:07.006Z'

test('each event is a line: time, outcome, caller, action, status, duration, reasons and request', async (t) => {
  const denied = {
    outcome: 'denied',
    status: 403,
    actors: ['agent'],
    policy: 'rules[1].deny[0] "read_secrets"',
    causes: ['denied', 'scope'],
    durationMs: 1234,
  } as const
  const bare = {
    at: AT,
    kind: 'accepted',
    requestId: 'r3',
    method: 'GET',
    route: '/v0/servers',
    outcome: 'failed',
  }
  const server = {
    registry: 'default',
    name: 'com.example/a',
    version: '1.0.0',
    action: 'publish',
    after: {},
  }
  const file = [
    line({ at: AT, requestId: 'r1' }),
    line({ at: AT, requestId: 'r2', ...denied }),
    JSON.stringify({ ...bare, status: 502, address: '10.0.0.7', causes: ['target_timeout'] }),
    JSON.stringify({
      ...bare,
      kind: 'published',
      outcome: 'allowed',
      provider: 'open',
      subject: 'open',
      server,
    }),
    line({
      at: AT,
      requestId: 'r5',
      provider: 'open',
      subject: 'open',
      address: '10.0.0.8',
      durationMs: 123_456,
    }),
    line({
      at: AT,
      kind: 'refused',
      requestId: 'r6',
      outcome: 'denied',
      status: 429,
      causes: ['too_many_requests', 'limits[1]'],
    }),
  ]
  const { stdout, stderr, code } = await tail(t, { 'audit.jsonl': `${file.join('\n')}\n` })

  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  assert.deepEqual(stdout.split('\n'), [
    '2026-01-31T09:08:07Z  + allowed  corp/alice            tools/call search             200     12ms  r1',
    '2026-01-31T09:08:07Z  x denied   corp/alice by agent   tools/call search             403     1.2s  rules[1].deny[0] "read_secrets", scope  r2',
    '2026-01-31T09:08:07Z  ! failed   10.0.0.7              GET /v0/servers               502        -  target_timeout  r3',
    '2026-01-31T09:08:07Z  + allowed  open/open             publish com.example/a@1.0.0     -        -  r3',
    '2026-01-31T09:08:07Z  + allowed  open 10.0.0.8         tools/call search             200     123s  r5',
    '2026-01-31T09:08:07Z  x denied   corp/alice            tools/call search             429     12ms  too_many_requests, limits[1]  r6',
    '',
  ])
})

test('the last matching lines are shown, 20 or the number of --lines', async (t) => {
  const files = { 'audit.jsonl': lines(30_000) }
  const shown = async (...flags: string[]) => idsIn((await tail(t, files, ...flags)).stdout)

  const [few, some, none, all] = await Promise.all([
    shown(),
    shown('-n', '3'),
    shown('--lines', '0'),
    shown('--lines', 'all'),
  ])
  assert.deepEqual([few, some, none, all], [ids(29_980, 30_000), ids(29_997, 30_000), [], ids(0, 30_000)])
  // Far more than what is looked at first.
  assert.deepEqual(await shown('-n', '5', '--request', 'r17'), ['r17'])
  assert.deepEqual(await shown('-n', '5000'), ids(25_000, 30_000))
})

test('filters are combined, and match exactly except for their stars', async (t) => {
  const tool = (name: string) => ({ mcp: { method: 'tools/call', kind: 'tool', name } }) as const
  const file = [
    line({ requestId: 'a', ...tool('delete_page'), outcome: 'denied', traceId: 'abc' }),
    line({ requestId: 'b', ...tool('delete_user'), subject: 'bob', address: '10.0.0.7' }),
    line({ requestId: 'c', mcp: { method: 'prompts/get', kind: 'prompt', name: 'delete_all' } }),
    line({ requestId: 'd', subject: 'al*ce', outcome: 'failed', at: '2020-01-01T00:00:00Z' }),
    JSON.stringify({ ...JSON.parse(line({ requestId: 'e' })), mcp: undefined, subject: undefined }),
    // Escaped as JSON may be: no text of it stands in the line.
    line({ requestId: 'f', subject: 'carol' }).replace('carol', String.raw`\u0063arol`),
  ].join('\n')
  const shown = async (...flags: string[]) =>
    idsIn((await tail(t, { 'audit.jsonl': file }, '--lines', 'all', ...flags)).stdout).join('')
  const cases: readonly (readonly [flags: string[], ids: string])[] = [
    [['--tool', 'delete_*'], 'ab'],
    [['--tool', 'delete'], ''],
    [['--caller', 'bob'], 'b'],
    [['--caller', 'corp/b*'], 'b'],
    [['--caller', '10.0.*'], 'b'],
    [['--caller', 'al*ce'], 'acd'],
    [['--caller', 'undefined/*'], ''],
    [['--caller', 'carol'], 'f'],
    [['--outcome', 'denied,failed'], 'ad'],
    [['--outcome', 'denied', '--outcome', 'failed', '--caller', 'alice'], 'a'],
    [['--since', '10m'], 'abcef'],
    [['--since', '2019-12-31'], 'abcdef'],
    [['--since', '2020-01-01T00:00:01Z', '--tool', '*'], 'abf'],
    [['--request', 'a'], 'a'],
    [['--trace', 'abc'], 'a'],
    [['--trace', 'ab*'], ''],
  ]

  for (const [flags, expected] of cases) assert.equal(await shown(...flags), expected, flags.join(' '))
})

test('all mistakes of the command line are reported at once with what was expected, and the exit code is 2', async (t) => {
  const wrong = await tail(t, {}, '--outcome', 'denid', '--since', 'yesterday', '-n', '-1')
  assert.equal(wrong.code, 2)
  const more = await tail(t, {}, '--outcome', 'denid,nothing', '--since', 'tomorrow', '-n', 'x')
  assert.equal(more.code, 2)
  assert.deepEqual(more.stderr.split('\n'), [
    '--lines: a whole number of at least 0, or all, is expected',
    '--outcome: unknown outcome (did you mean "denied"?)',
    '--outcome: unknown outcome; known here: allowed, denied, failed',
    '--since: a duration such as 10m or 24h, or a time such as 2026-01-31T09:00:00Z, is expected',
    '',
  ])
  const missing = await tail(t, {})
  assert.equal(missing.code, 2)
  assert.equal(missing.stderr, `${missing.place}: there is no such file (ENOENT)\n`)

  const home = folder(t)
  mkdirSync(join(home, 'audit'))
  const of = program(t, ['tail', join(home, 'audit')])
  assert.equal(await of.ended(), 2)
  assert.equal(of.output.stderr, `${join(home, 'audit')}: it is a folder (EISDIR)\n`)
})

test('lines without an audit event are skipped and counted once', async (t) => {
  const home = folder(t)
  const place = join(home, 'audit.jsonl')
  const good = line({ requestId: 'good' })
  const malformed = [
    Buffer.from('{"at":"2026'),
    Buffer.from('[]'),
    Buffer.from('{"level":"info"}'),
    Buffer.from(line({ at: 'yesterday' })),
    Buffer.from(good.replace('good', 'x'.repeat(1_100_000))),
    Buffer.concat([Buffer.from(good.slice(0, -2)), Buffer.of(0xff), Buffer.from('"}')]),
    Buffer.of(0, 1, 2),
  ]
  writeFileSync(place, Buffer.concat(malformed.flatMap((bytes) => [bytes, Buffer.from(`\n\n${good}\n`)])))

  const tailing = program(t, ['tail', place])
  assert.equal(await tailing.ended(), 0)
  assert.deepEqual(idsIn(tailing.output.stdout), Array(7).fill('good'))
  const count = '7 lines are no audit events, and were skipped'
  assert.equal(tailing.output.stderr, `warning: ${place}: ${count}\n`)

  writeFileSync(place, `${good}\n${good.slice(0, 40)}`)
  const torn = program(t, ['tail', place, '--json'])
  assert.equal(await torn.ended(), 0)
  assert.equal(torn.output.stdout, `${good}\n`)
  assert.match(torn.output.stderr, /: 1 line is no audit event, and was skipped\n$/)
})

test('the last line may lack its line feed, and --json prints every byte of a line', async (t) => {
  const odd = ` ${line({ requestId: 'r1', subject: 'ä\u009b\u202e名\u{1f600}\u2028' })} \t\r`
  const file = `${line({ requestId: 'r0' })}\n${odd}`
  const { stdout } = await tail(t, { 'audit.jsonl': file }, '--json', '-n', 'all')
  assert.equal(stdout, `${file}\n`)
})

test('rotated files are read first, the oldest before the others, and no lines are joined', async (t) => {
  const files = {
    'audit.jsonl.10': lines(9_000, 0),
    ...Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`audit.jsonl.${9 - n}`, lines(1, 9_000 + n)])),
    'audit.jsonl.1': lines(1, 9_008).trimEnd(),
    'audit.jsonl': lines(2, 9_009),
    'audit.jsonl.lock': 'no audit file',
  }
  const shown = async (...flags: string[]) => idsIn((await tail(t, files, ...flags)).stdout)

  assert.deepEqual(await shown(), ids(9_009, 9_011))
  assert.deepEqual(await shown('--rotated', '-n', 'all'), ids(0, 9_011))
  assert.deepEqual(await shown('--rotated', '-n', '2'), ids(9_009, 9_011))
  assert.deepEqual(await shown('--rotated', '-n', '5'), ids(9_006, 9_011))
  assert.deepEqual(await shown('--rotated', '--request', 'r4'), ['r4'])
})

test('standard input and pipes are read to their end', async (t) => {
  const read = (...flags: readonly string[]) => cli(t, ['tail', '-', ...flags], { input: lines(50) })

  const run = (script: string) =>
    spawnSync('bash', ['-c', script, bin, process.execPath], { encoding: 'utf8', input: lines(50) })

  assert.deepEqual(idsIn((await read()).stdout), ids(30, 50))
  assert.deepEqual(idsIn((await read('--follow')).stdout), ids(0, 50))
  assert.deepEqual(idsIn(run('"$1" "$0" tail <(cat) -n all').stdout), ids(0, 50))
  assert.deepEqual(idsIn(run('"$1" "$0" tail /dev/stdin -n 3 < <(cat)').stdout), ids(47, 50))
  const { code, stderr } = await read('--rotated')
  assert.deepEqual([code, stderr], [2, '--rotated: needs a file: standard input has no others beside it\n'])
})

test('a reader that has read enough is no failure', async (t) => {
  const place = join(folder(t, { 'audit.jsonl': `{}\n${lines(20_000)}` }), 'audit.jsonl')
  for (const flags of [
    ['-n', 'all'],
    ['-n', 'all', '--follow'],
  ]) {
    const child = spawn(process.execPath, [bin, 'tail', place, ...flags], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    t.after(() => child.kill('SIGKILL'))
    let complaint = ''
    child.stderr.on('data', (chunk) => (complaint += String(chunk)))
    child.stdout.once('data', () => child.stdout.destroy())

    assert.deepEqual([...(await once(child, 'close')), complaint], [0, null, ''], flags.join(' '))
  }
})
