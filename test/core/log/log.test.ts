import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { UpstreamError } from 'sallyport'
import { createLog, type LogOptions, LogScrubber } from 'sallyport/embed'
import { capturedLog } from '#kit/captured-log.js'
import { ownSources } from '#kit/own-sources.js'
import { runs } from '#kit/runs.js'

const level = (name: 'debug' | 'info'): LogOptions => ({ level: name })

test('a line is JSON with its level by name, its time and its message', () => {
  const { log, lines } = capturedLog()

  log.child({ plugin: 'auth/jwt' }).warn({ n: 1 }, 'hello')

  const { time, ...rest } = JSON.parse(lines[0] ?? '')
  assert.deepEqual(rest, { level: 'warn', plugin: 'auth/jwt', n: 1, msg: 'hello' })
  assert.ok(!Number.isNaN(Date.parse(time)))
  assert.ok(lines[0]?.endsWith('}\n'))
})

test('a request is logged by method, path and route, a response by status', () => {
  const { log, lines } = capturedLog()
  const req = {
    id: 'r1',
    method: 'GET',
    url: '/a/b?token=canary',
    headers: { cookie: 'canary' },
    routeOptions: { url: '/a/:id' },
  }

  log.info({ req, res: { statusCode: 401, headers: { 'set-cookie': 'canary' } } })

  const line = JSON.parse(lines[0] ?? '')
  assert.deepEqual(line.req, { id: 'r1', method: 'GET', path: '/a/b', route: '/a/:id' })
  assert.deepEqual(line.res, { statusCode: 401 })
})

test('an error is logged with its code and all its causes, and its stack at debug level only', () => {
  const circle = new Error('outer', { cause: new Error('inner') })
  Object.assign(circle.cause as Error, { cause: circle })
  const failed = new UpstreamError('UPSTREAM_UNREACHABLE', 'it failed', {
    cause: new AggregateError([new Error('one'), 'two'], 'all'),
  })
  const quiet = capturedLog(level('info'))
  const loud = capturedLog(level('debug'))

  quiet.log.error({ err: failed })
  loud.log.error({ err: failed })
  loud.log.error({ err: circle })

  assert.deepEqual(JSON.parse(quiet.lines[0] ?? '').err, {
    type: 'UpstreamError',
    code: 'UPSTREAM_UNREACHABLE',
    message: 'it failed',
    cause: { type: 'AggregateError', message: 'all', errors: [{ type: 'Error', message: 'one' }, 'two'] },
  })
  assert.match(JSON.parse(loud.lines[0] ?? '').err.stack, /log\.test/)
})

test('an error with a changed stack is logged without its line', () => {
  const { log, lines } = capturedLog(level('info'))
  const frame = 'x\n    at file://elsewhere/a.js:1:1\n    at /a/b.js:1:1\n    at '
  for (const written of [{ stack: 7 }, { message: undefined }, { message: 'other' }, { stack: frame }, {}]) {
    log.error({ err: Object.assign(new Error(frame), written) })
  }
  const places = lines.map((line) => JSON.parse(line).err.at)
  assert.equal(places.length, 5)
  assert.ok(
    places.every((at) => at === undefined || !/elsewhere|\/a\/b/.test(at)),
    String(places),
  )
})

test('T10: control characters and bidirectional overrides are escaped', () => {
  const strange = '\u001b[2J\u0007\u009b31m\u202e\u2028\r'
  for (const pretty of [false, true]) {
    const { log, lines } = capturedLog({ pretty, level: 'debug' })
    log.warn({ reason: strange, err: new Error(strange) }, `told "it": a\\b ${strange}`)
    const colour = /.\[\d\d?m/g
    const text = lines.join('').replaceAll(colour, (found) => (found.startsWith('\u001b') ? '' : found))
    assert.match(text, /^[\n\x20-\x7e]*$/)
    assert.match(text, /\\u009b31m\\u202e/)
    if (pretty) assert.match(text, /told "it": a\\b \\u001b\[2J/)
    else assert.equal(JSON.parse(text).reason, strange)
  }
})

test('a terminal gets lines for people, scrubbed as well', () => {
  const { log, lines } = capturedLog({ pretty: true })

  log.info({ authorization: 'canary' }, 'asked https://h/x?canary')

  assert.doesNotMatch(lines.join(), /canary|^\{/)
  assert.match(lines.join(), /INFO.*asked https:\/\/h\/x\?\*\*\*/)
})

test('lines go to stderr, also the last line before an exit', () => {
  const script = `import { createLog } from 'sallyport/embed'; createLog().fatal('the end'); process.exit(3)`

  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...ownSources.node, '--input-type=module', '-e', script],
    { encoding: 'utf8', cwd: ownSources.folder },
  )

  assert.deepEqual([status, stdout], [3, ''])
  assert.equal(JSON.parse(stderr).msg, 'the end')
})

const canary = 'canary/+%"\\=7'
const bearer = 'canary-._~+/A9=='
const path = fc.array(fc.string(), { maxLength: 4 })
const around = fc.tuple(fc.string(), fc.string())

/** Puts a value at the end of a path of keys. */
const nested = (keys: readonly string[], value: unknown): unknown =>
  keys.reduceRight((inner, key) => ({ [key]: inner }), value)

const inForm = (value: string) => new URLSearchParams({ a: value }).toString()
const headers = ['Authorization', 'COOKIE', 'set-cookie', 'proxy-authorization', 'X-Api-Key']
const form = [
  'code',
  'state',
  'code_verifier',
  'client_secret',
  'access_token',
  'refresh_token',
  'subject_token',
  'password',
]

const known: fc.Arbitrary<unknown> = fc.oneof(
  fc.constant(canary),
  fc.constantFrom(encodeURIComponent(canary), inForm(canary), JSON.stringify({ canary }), btoa(canary)),
  fc.constant(JSON.stringify(JSON.stringify({ a: canary }))),
)

// In each of these a value must be found that was not added to the scrubber.
const unknown: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom('Bearer', 'bearer', 'BASIC', 'DPoP').map((scheme) => `${scheme} ${bearer}`),
  fc.constantFrom(`"${bearer}"`, `a,${bearer}`, `auth${bearer}`).map((token) => `Bearer ${token}`),
  fc.constantFrom(...headers).map((name) => ({ [name]: bearer })),
  fc.constantFrom(...headers).map((name) => ['X-First', '1', name, bearer]),
  fc.constantFrom(...headers).map((name) => `${name}: ${bearer}; b=${bearer}`),
  fc.constantFrom(...form).map((name) => `${name}=${bearer}&next=1`),
  fc.constantFrom(...form).map((name) => JSON.stringify({ [name]: `a"b\\${bearer}`, b: 1 })),
  fc.constantFrom(...form.slice(2)).map((name) => ({ [name]: bearer })),
  fc.constantFrom('/x', 'https://h', 'https://h:1/x', 'http://[::1]/').map((url) => `${url}?q=${bearer}#f`),
  fc
    .constantFrom('https', 'postgres', 'redis')
    .map((scheme) => `${scheme}://user:${encodeURIComponent(bearer)}@host/db`),
  fc.constantFrom(
    `eyJhbGci.${bearer}`,
    `eyJhbGci.e30.${'canary'}`,
    'eyJhbGci.canary.',
    'eyJhbGci.a.canary.b.canary',
  ),
)

const places: readonly ((
  value: unknown,
  keys: readonly string[],
  text: string,
) => readonly [unknown, string?])[] = [
  (value, _keys, text) => [{}, `${text} ${asText(value)}`],
  (value, keys) => [{ data: nested(keys, value) }, 'nested'],
  (value, keys) => [{ data: nested(keys, [[value]]) }, 'listed'],
  (value) => [{ err: new Error(asText(value)) }],
  (value) => [new Error('outer', { cause: new Error('inner', { cause: new Error(asText(value)) }) })],
  (value) => [{ err: new AggregateError([new Error(asText(value))]) }],
  (value) => [{ req: { url: `/x?y=${asText(value)}`, headers: { any: value } } }],
]

test('RS-31 T10: no line has a secret that the scrubber knows, in any encoding, field and level', () => {
  assertHidden(known, (scrubber) => scrubber.add(canary), [
    canary,
    encodeURIComponent(canary),
    btoa(canary),
    'canary/+',
  ])
})

test('RS-31 T10: a credential that the scrubber does not know is found by its shape', () => {
  assertHidden(unknown, () => {}, ['canary'])
})

test('T10 T16: secrets of any length are hidden, and so are many long ones', () => {
  const scrubber = new LogScrubber()
  const lengths = [30_000, 100_000, ...Array.from({ length: 40 }, () => 4_000)]
  const secrets = lengths.map((length) => `${randomBytes(length).toString('base64')}/+"\\`)
  for (const secret of secrets) scrubber.add(secret)
  const { log, lines } = capturedLog({ scrubber })

  for (const secret of secrets) log.info({ spelt: [secret, encodeURIComponent(secret), btoa(secret)] })

  assert.equal(lines.length, secrets.length)
  for (const line of lines)
    assert.match(line, /"spelt":\["(\*{3})+.{0,3}","(\*{3})+.{0,3}","(\*{3})+.{0,3}"\]/)
})

test('a known secret is found in the name of a field and as a number too', () => {
  const scrubber = new LogScrubber()
  scrubber.add('12345678')
  const { log, lines } = capturedLog({ scrubber })

  log.info({ '12345678': 1, pin: 12_345_678 })

  assert.doesNotMatch(lines.join(), /12345678/)
})

test('ordinary lines are unchanged', () => {
  const scrubber = new LogScrubber()
  scrubber.add('abc')
  const everyday = [
    'no bearer token in the request, basic authentication is not supported',
    'exited with code 1, state is ready, the token expired, what? abc',
    'Bearer realm="mcp-registry", resource_metadata="https://h/.well-known/x"',
    'listening on http://127.0.0.1:8080/mcp -> https://h/mcp',
    'GET /registry/default/v0.1/servers 200 in 1.2 ms',
    'Cookie support is off',
  ]

  assert.deepEqual(
    everyday.map((line) => scrubber.text(line)),
    everyday,
  )
})

test('T16: scrubbing takes time linear in the line', () => {
  const scrubber = new LogScrubber()
  const pieces = [
    'eyJ',
    '?',
    'Bearer ',
    '"code":"\\',
    '://',
    'cookie:',
    'code=',
    '="',
    'a.',
    ' :',
    "'state' '",
    '%3D',
  ]

  for (const piece of pieces) {
    const start = performance.now()
    scrubber.text(piece.repeat(100_000 / piece.length))
    scrubber.text(`code ${piece.repeat(100_000 / piece.length)}`)
    assert.ok(performance.now() - start < 1_000, piece)
  }
})

function assertHidden(
  secrets: fc.Arbitrary<unknown>,
  teach: (scrubber: LogScrubber) => unknown,
  never: readonly string[],
): void {
  const lines: string[] = []
  const scrubber = new LogScrubber()
  teach(scrubber)
  const log = createLog({ level: 'trace', scrubber, stream: { write: (line) => lines.push(line) } })
  const levels = fc.constantFrom('trace' as const, 'debug' as const, 'info' as const, 'error' as const)
  const spot = fc.tuple(fc.constantFrom(...places), path, around, levels)

  fc.assert(
    fc.property(secrets, spot, (secret, [place, keys, [before], name]) => {
      lines.length = 0
      const [fields, message] = place(secret, keys, before)
      log[name](fields, message)
      assert.equal(lines.length, 1)
      for (const text of never) assert.ok(!holds(JSON.parse(lines[0] ?? ''), text), lines[0])
    }),
    { numRuns: runs(3_000) },
  )
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Whether any text of a line, read as JSON, holds `text`. */
function holds(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value.includes(text)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, item]) => key.includes(text) || holds(item, text))
}
