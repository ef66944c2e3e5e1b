import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { line } from './events.js'

async function summed(t: TestContext, files: Readonly<Record<string, string>>, ...flags: string[]) {
  const place = join(folder(t, files), 'audit.jsonl')
  const tailing = program(t, ['tail', place, '--summary', ...flags], { environment: { TZ: 'Asia/Tokyo' } })
  assert.equal(await tailing.ended(), 0, tailing.output.stderr)
  return tailing.output
}

const tool = (name: string) => ({ mcp: { method: 'tools/call', kind: 'tool', name } }) as const
const denied = { outcome: 'denied', policy: 'rules[1]', causes: ['denied'], durationMs: 0.5 } as const
const file = [
  ...Array.from({ length: 100 }, (_, n) => line({ at: `2026-01-31T09:00:0${n % 10}Z`, durationMs: n + 1 })),
  line({ at: '2026-01-31T08:59:59Z', subject: 'bob', ...tool('delete'), ...denied }),
  line({ at: '2026-01-31T09:10:00Z', subject: 'bob', ...tool('delete'), ...denied }),
  line({
    at: '2026-01-31T09:09:00Z',
    subject: 'bob',
    outcome: 'failed',
    causes: ['aborted'],
    durationMs: 90_000,
  }),
].join('\n')

test('it is summed up who did what, how often, how slow, and why not', async (t) => {
  const { stdout, stderr } = await summed(t, { 'audit.jsonl': `${file}\nnonsense` })
  assert.deepEqual(stdout.split('\n'), [
    '103 events: 100 allowed, 2 denied, 1 failed; from 2026-01-31T08:59:59Z to 2026-01-31T09:10:00Z',
    '',
    'caller      count  denied  failed    p50    p95    max',
    'corp/alice    100       0       0   50ms   94ms  100ms',
    'corp/bob        3       2       1  0.5ms  90.0s  90.0s',
    '',
    'what               count  denied  failed    p50    p95    max',
    'tools/call search    101       0       1   50ms   94ms  90.0s',
    'tools/call delete      2       2       0  0.5ms  0.5ms  0.5ms',
    '',
    'why not   count  denied  failed    p50    p95    max',
    'rules[1]      2       2       0  0.5ms  0.5ms  0.5ms',
    'aborted       1       0       1  90.0s  90.0s  90.0s',
    '',
  ])
  assert.match(stderr, /: 1 line is no audit event/)
})

test('no part of the calls took longer than the longest', async (t) => {
  const { stdout } = await summed(t, { 'audit.jsonl': line({ durationMs: 3746 }) })
  assert.match(stdout, /^corp\/alice +1 +0 +0 +3\.7s +3\.7s +3\.7s$/m)
})

test('a summary is one object for programs, of what matches alone', async (t) => {
  const { stdout } = await summed(
    t,
    { 'audit.jsonl': file },
    '--json',
    '--caller',
    'bob',
    '--outcome',
    'denied',
  )
  const figures = { count: 2, denied: 2, failed: 0, p50Ms: 0.5, p95Ms: 0.5, maxMs: 0.5 }
  assert.deepEqual(JSON.parse(stdout), {
    from: '2026-01-31T08:59:59.000Z',
    to: '2026-01-31T09:10:00.000Z',
    ...figures,
    callers: [{ caller: 'corp/bob', ...figures }],
    what: [{ what: 'tools/call delete', ...figures }],
    reasons: [{ reason: 'rules[1]', ...figures }],
  })

  const none = await summed(t, { 'audit.jsonl': file }, '--caller', 'nobody')
  assert.equal(none.stdout, 'no event matches\n')
  const empty = JSON.parse((await summed(t, { 'audit.jsonl': '' }, '--json')).stdout)
  assert.deepEqual(empty, {
    from: null,
    to: null,
    count: 0,
    denied: 0,
    failed: 0,
    callers: [],
    what: [],
    reasons: [],
  })
})

test('of callers without end the most frequent are named, and the others are one row', async (t) => {
  const many = Array.from({ length: 5_000 }, (_, n) => line({ subject: `user${n}` }))
  const often = Array.from({ length: 30 }, () => line({ subject: 'user7' }))
  const files = { 'audit.jsonl.1': many.join('\n'), 'audit.jsonl': often.join('\n') }

  const { stdout } = await summed(t, files, '--rotated')
  const [, callers = ''] = stdout.split('\n\n')
  const rows = callers.split('\n').slice(1)
  assert.match(rows[0] ?? '', /^corp\/user7 +31 /)
  assert.equal(rows.length, 21)
  assert.match(rows.at(-1) ?? '', /^other +4980 /)

  const { callers: listed, count } = JSON.parse((await summed(t, files, '--rotated', '--json')).stdout)
  assert.equal(count, 5_030)
  assert.equal(listed.length, 1_001)
  assert.deepEqual([listed.at(-1).other, listed.at(-1).count], [true, 4_000])
})
