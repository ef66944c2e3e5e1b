import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { document, publishing } from '../publishing.js'

const PROVIDED = 'io.modelcontextprotocol.registry/publisher-provided'

const options = { publishRate: '1000000/1m' }
const anonymous = { authorization: '' }

/** JSON as people write it: numbers that no program has, escapes, and white space between tokens. */
const raw: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      '1.0',
      '-0',
      '1e400',
      '12345678901234567890',
      '1E+2',
      'true',
      'null',
      '"\\u00e9\\/"',
      '"\\ud83d\\ude00"',
      '""',
    ),
    fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 3 }).map((all) => `[${all.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(fc.string({ maxLength: 5 }), tie('value')), {
        maxLength: 3,
        selector: ([key]) => key,
      })
      .map((all) => `{${all.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`),
  ),
})).value

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 10 }),
  fc.constantFrom(
    '1.0.0',
    'latest',
    '^1',
    '1.x',
    'https://a.example/{x}',
    'com.example/a',
    '../..',
    '\u0000',
  ),
)

const asJson = (each: string): string => JSON.stringify(each)

const member = (name: string, value: fc.Arbitrary<string>) => value.map((each) => [name, each] as const)

/** Members of a document, most of which could be good. */
const changes = fc.array(
  fc.oneof(
    member(
      'name',
      fc.constantFrom('a', 'b.c', '-', 'latest').map((rest) => asJson(`com.example/${rest}`)),
    ),
    member(
      'name',
      text.map((rest) => asJson(`com.example/${rest}`)),
    ),
    member('title', text.map(asJson)),
    member('description', text.map(asJson)),
    member('websiteUrl', fc.webUrl().map(asJson)),
    member(
      '_meta',
      raw.map((value) => `{"${PROVIDED}":{"x":${value}}}`),
    ),
    member('remotes', raw),
    member('packages', raw),
  ),
  { maxLength: 2 },
)

test('publish gives any document the verdict of validate, and an accepted one is served byte for byte', async (t) => {
  const { publish, send, get } = await publishing(t, { options })
  let count = 0
  let taken = 0
  const version = fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, text)
  await fc.assert(
    fc.asyncProperty(changes, version, async (changed, odd) => {
      const good = Object.entries(document(odd ?? `1.0.${count++}`)).map(
        ([name, value]) => [name, JSON.stringify(value)] as const,
      )
      const members = [...new Map([...good, ...changed])]
      const sent = `{${members.map(([name, value]) => `"${name}":${value}`).join(',')}}`
      const validated = await send('POST', '/validate', sent, anonymous)
      assert.equal(validated.statusCode, 200, validated.body)
      const published = await publish(sent)
      const { valid } = validated.json()
      const expected = valid ? [200, 409] : [422]
      assert.ok(expected.includes(published.statusCode), `${published.statusCode} ${published.body}`)
      if (published.statusCode !== 200) return
      taken++
      assert.ok(published.body.startsWith(`{"server":${sent},"_meta":`), published.body)
      const { name, version } = JSON.parse(sent)
      assert.equal((await get(name, version)).body, published.body)
    }),
    { numRuns: runs(400) },
  )
  assert.ok(taken > runs(20) / 2, `only ${taken} were taken`)
})

test('any bytes are refused, and never with a 500', async (t) => {
  const { send } = await publishing(t, { options })
  const path = fc.constantFrom(
    ['POST', '/publish'] as const,
    ['POST', '/validate'] as const,
    ['PATCH', '/servers/com.example%2Fa/status'] as const,
    ['PATCH', '/servers/com.example%2Fa/versions/1/status'] as const,
  )
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((each) => Buffer.from(each)),
    fc.json().map((each) => Buffer.from(each)),
    raw.map((each) => Buffer.from(each)),
    raw.map((each) => Buffer.from(`{"status":"deleted","statusMessage":${each}}`)),
    fc.nat(20_000).map((depth) => Buffer.from('['.repeat(depth) + ']'.repeat(depth))),
    fc.nat(20_000).map((depth) => Buffer.from('{"":'.repeat(depth))),
  )
  const type = fc.constantFrom(undefined, 'application/json', 'text/plain', 'nonsense', 'multipart/form-data')
  await fc.assert(
    fc.asyncProperty(path, bytes, type, async ([method, url], body, contentType) => {
      const { statusCode } = await send(method, url, body, { 'content-type': contentType })
      const allowed = url === '/validate' ? [200, 400, 415] : [400, 404, 415, 422]
      assert.ok(allowed.includes(statusCode), `${statusCode}`)
    }),
    { numRuns: runs(300) },
  )
})

test('a name or version in a path is found exactly, or not at all', async (t) => {
  const { publish, send } = await publishing(t, { options })
  const version = "1.0.0+b~!$&'()*,;=:@"
  const known = await publish(document('1.0.0+b.1'))
  assert.equal(known.statusCode, 200, known.body)
  const odd = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom(
      'com.example/search',
      'com.example%2Fsearch',
      'COM.EXAMPLE/search',
      version,
      'latest',
      'x'.repeat(300),
    ),
  )
  await fc.assert(
    fc.asyncProperty(odd, odd, fc.boolean(), async (name, wanted, isDelete) => {
      const [first, second] = [name, wanted].map((each) => encodeURIComponent(each.toWellFormed()))
      // An empty segment, or one of dots, is another path.
      if (/^\.{0,2}$/.test(name) || /^\.{0,2}$/.test(wanted)) return
      const path = `/servers/${first}/versions/${second}`
      const response = isDelete
        ? await send('DELETE', path)
        : await send('PATCH', `${path}/status`, { status: 'deprecated' })
      assert.ok(response.statusCode === 404 || response.statusCode === 400, `${response.statusCode} ${path}`)
    }),
    { numRuns: runs(300) },
  )
  const path = '/servers/com.example%2Fsearch/versions'
  assert.equal((await send('PATCH', `${path}/1.0.0%2Bb.1/status`, { status: 'deprecated' })).statusCode, 200)
  assert.equal((await send('DELETE', `${path}/1.0.0+b.1`)).statusCode, 200)
  assert.equal((await send('DELETE', `${path}/%ZZ`)).statusCode, 404)
})

test('a document at the size limit is accepted and served, and one more byte is too large', async (t) => {
  const { publish, get } = await publishing(t)
  const padded = (size: number): string => {
    const written = JSON.stringify(document())
    return written + ' '.repeat(size - written.length)
  }
  const large = await publish(padded(256 * 1024 + 1))
  assert.equal(large.statusCode, 413)
  assert.equal((await publish(padded(256 * 1024))).statusCode, 200)
  assert.equal((await get('com.example/search', '1.0.0')).statusCode, 200)
})
