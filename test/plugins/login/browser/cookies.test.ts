import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { ChunkedCookie } from '#plugins/login/browser/cookies.js'

/** As a browser sends back what it was given. */
const sent = (lines: readonly string[]): string =>
  lines
    .filter((line) => !line.includes('Max-Age=0'))
    .map((line) => line.split(';')[0] ?? '')
    .join('; ')

test('a value that needs several cookies is read as it was written, up to a limit', () => {
  const cookie = new ChunkedCookie('session', true, 3)
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 * 3_800 }), (length) => {
      const text = Array.from({ length }, (_, at) => String(at % 10)).join('')
      const lines = cookie.write(text) ?? []
      assert.equal(lines.length, 3)
      for (const line of lines) assert.ok((line.split(';')[0] ?? '').length <= 4_096)
      assert.equal(cookie.read(`other=1; ${sent(lines)}; last=2`), text)
    }),
    { numRuns: runs(50) },
  )
  assert.equal(cookie.write('x'.repeat(3 * 3_800 + 1)), undefined)
})

test('the attributes are those of a host, with https and on loopback', () => {
  const [line = ''] = new ChunkedCookie('session', true, 1).write('x', 600) ?? []
  assert.equal(line, '__Host-session=x; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600')
  const [plain = ''] = new ChunkedCookie('session', false, 1).write('x') ?? []
  assert.equal(plain, 'session=x; Path=/; HttpOnly; SameSite=Lax')
  const gone = new ChunkedCookie('session', true, 2).remove()
  assert.deepEqual(
    gone.map((each) => each.split(';')[0]),
    ['__Host-session=', '__Host-session.1='],
  )
  for (const each of gone) assert.match(each, /Secure; Max-Age=0$/)
})

test('any header is read at once, and the first of two cookies of a name counts', () => {
  const cookie = new ChunkedCookie('s', false, 4)
  assert.equal(cookie.read(undefined), undefined)
  assert.equal(cookie.read('s=a; s=b; s.1=c; s.3=d'), 'ac')
  assert.equal(cookie.read('s.1=c'), undefined)
  assert.equal(cookie.read(`s=a; ${'x'.repeat(5 * 1024 * 1024)}`), undefined)
  assert.equal(cookie.read(Array.from({ length: 1_000 }, (_, at) => `s.${at}=x`).join(';')), undefined)
  fc.assert(
    fc.property(fc.string(), (header) => {
      const text = cookie.read(header)
      assert.ok(text === undefined || header.includes(text.slice(0, 1)))
    }),
  )
})
