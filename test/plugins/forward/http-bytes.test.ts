import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { proxied } from './proxied.js'
import { answerTo, rawTarget } from './raw-target.js'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'
const of = (characters: string, maxLength = 12) =>
  fc.string({ unit: fc.constantFrom(...characters.split('')), minLength: 1, maxLength })

const TOKEN = "!#$%&'*+.^_`|~09azAZ-"
const VALUE = `\x21\x7e\x80\xff"\\,;=:/?@[](){}<> \t${TOKEN}`
const name = of(TOKEN).filter(
  (text) => !/^(?:host|te|upgrade|expect|trailer|connection|keep-alive|forwarded)$/i.test(text),
)
const value = of(VALUE, 40).map((text) => text.replaceAll(/^[ \t]+|[ \t]+$/g, ''))
const headers = fc.array(
  fc.tuple(
    name.map((text) => `X-${text}`),
    value,
  ),
  { maxLength: 8 },
)
const target = of('/.%25fFzZ-_~!$&\'()*+,;=:@|\\^`{}<>"[]?#', 24).map((text) => `/${text}`)

test('the bytes of any request target and headers arrive unchanged', async (t) => {
  const raw = await rawTarget(t, () => OK)
  const { main } = await proxied(t, raw.origin)

  await fc.assert(
    fc.asyncProperty(target, headers, fc.boolean(), async (path, given, chunked) => {
      raw.seen.length = 0
      const lines = given.map(([each, text]) => `${each}: ${text}\r\n`).join('')
      const framing = chunked
        ? 'Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n'
        : 'Content-Length: 1\r\n\r\nx'
      await answerTo(main, `POST ${path} HTTP/1.1\r\nHost: a\r\n${lines}${framing}`)

      const [seen] = raw.seen
      assert.equal(seen?.line, `POST ${path} HTTP/1.1`)
      assert.deepEqual(
        seen.headers.filter(([each]) => each.startsWith('X-')),
        given,
      )
      assert.equal(seen.body, 'x')
    }),
    { numRuns: runs(300) },
  )
})

test('no request target leads outside of the target’s path, and every other is appended as text', async (t) => {
  const raw = await rawTarget(t, () => OK)
  const { main } = await proxied(t, `${raw.origin}/base/mcp`)
  const step = fc.constantFrom(
    '/',
    '//',
    '/.',
    '/..',
    '/%2e%2e',
    '/%2E.',
    '/..;a',
    '\\..',
    '%2f..',
    '/a',
    '/b%20',
    '/...',
  )

  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 7 }), async (steps) => {
      raw.seen.length = 0
      const path = `/x${steps.join('')}`
      const { line } = await answerTo(main, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
      const read = path
        .replaceAll(/%2e/gi, '.')
        .replaceAll(/%2f|\\/gi, '/')
        .replaceAll(/;[^/]*/g, '')
      const depths = read
        .split('/')
        .map((segment) => (segment === '..' ? -1 : segment === '' || segment === '.' ? 0 : 1))
      let depth = 0
      let out = false
      for (const change of depths) {
        depth += change
        out ||= depth < 0
      }
      assert.equal(line, out ? 'HTTP/1.1 400 Bad Request' : 'HTTP/1.1 200 OK', path)
      assert.equal(raw.seen[0]?.line, out ? undefined : `GET /base/mcp${path} HTTP/1.1`)
    }),
    { numRuns: runs(200) },
  )
})

const joined: readonly (readonly [target: string, asked: string, sent: string])[] = [
  ['', '/', '/'],
  ['/', '/x', '/x'],
  ['/mcp', '/', '/mcp'],
  ['/mcp', '/?a=1', '/mcp?a=1'],
  ['/mcp', '/mcp', '/mcp'],
  ['/mcp', '/mcp?a', '/mcp?a'],
  ['/mcp', '/x', '/mcp/x'],
  ['/mcp', '/mcp/x', '/mcp/x'],
  ['/mcp', '/mcpx', '/mcp/mcpx'],
  ['/mcp/', '/', '/mcp/'],
  ['/mcp/', '/mcp', '/mcp/'],
  ['/mcp/', '/x', '/mcp/x'],
  ['/mcp', '//evil.example/x', '/mcp//evil.example/x'],
  ['/mcp', 'http://evil.example/x?q', '/mcp/x?q'],
  ['/mcp', 'https://evil.example', '/mcp'],
  ['', 'http://evil.example?q', '/?q'],
]
for (const [base, asked, sent] of joined) {
  test(`a request for ${asked} with the target "${base}" is sent as ${sent}`, async (t) => {
    const raw = await rawTarget(t, () => OK)
    const { main } = await proxied(t, raw.origin + base)
    await answerTo(main, `GET ${asked} HTTP/1.1\r\nHost: a\r\n\r\n`)
    assert.equal(raw.seen[0]?.line, `GET ${sent} HTTP/1.1`)
  })
}

test('a request target that is not a path is refused, and cannot choose a host', async (t) => {
  const raw = await rawTarget(t, () => OK)
  const { main } = await proxied(t, raw.origin)
  for (const asked of ['*', 'ftp://evil.example/x', '/\xe4']) {
    const { line } = await answerTo(main, `GET ${asked} HTTP/1.1\r\nHost: a\r\n\r\n`)
    assert.match(line, /^HTTP\/1.1 4/)
  }
  assert.equal(raw.seen.length, 0)
})
