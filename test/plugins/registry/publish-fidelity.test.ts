import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { publishing } from './publishing.js'

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json'
const PROVIDED = 'io.modelcontextprotocol.registry/publisher-provided'

/** JSON as tokens, so that there can be any space between them. */
type Tokens = readonly string[]

/** A text in JSON, each of its characters as it is or in one of its escapes. */
const textToken = (text: fc.Arbitrary<string>): fc.Arbitrary<Tokens> =>
  fc.tuple(text, fc.array(fc.nat({ max: 2 }), { minLength: 1 })).map(([value, forms]) => {
    // One half of a pair as it is, and the other as an escape, would be no text.
    if (/[\ud800-\udfff]/.test(value)) return [JSON.stringify(value)]
    const characters = value.split('').map((character, index) => {
      const hex = character.charCodeAt(0).toString(16).padStart(4, '0')
      const plain = JSON.stringify(character).slice(1, -1)
      return [plain, `\\u${hex}`, `\\u${hex.toUpperCase()}`][forms[index % forms.length] ?? 0]
    })
    return [`"${characters.join('')}"`]
  })

const numbers = [
  '0',
  '-0',
  '1.0',
  '1.50',
  '1e2',
  '1E+2',
  '-1.0e-7',
  '12345678901234567890',
  '0.1000000000000000055',
]
const anyText = fc.string({ unit: 'grapheme', maxLength: 12 })

const object = (members: readonly (readonly [Tokens, Tokens])[]): Tokens => [
  '{',
  ...members.flatMap(([key, value], index) => [...(index === 0 ? [] : [',']), ...key, ':', ...value]),
  '}',
]

const { json } = fc.letrec<{ json: Tokens }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    textToken(anyText),
    fc.constantFrom(...numbers, 'true', 'false', 'null').map((token) => [token]),
    fc
      .array(tie('json'), { maxLength: 3 })
      .map((items) => ['[', ...items.flatMap((item, index) => (index === 0 ? item : [',', ...item])), ']']),
    fc
      .uniqueArray(fc.tuple(anyText, tie('json')), { maxLength: 3, selector: ([key]) => key })
      .map((members) => object(members.map(([key, value]) => [[JSON.stringify(key)], value]))),
  ),
}))

const literal = (value: unknown): fc.Arbitrary<Tokens> => fc.constant([JSON.stringify(value)])
const some = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })

const headers = fc
  .array(fc.tuple(textToken(fc.constant('X-Region')), textToken(anyText)), { maxLength: 1 })
  .map((pairs): Tokens => {
    const items = pairs.map(([name, value]) =>
      object([
        [['"name"'], name],
        [['"value"'], value],
      ]),
    )
    return ['[', ...items.flat(), ']']
  })

const remotes = headers.map(
  (list): Tokens => [
    '[',
    ...object([
      [['"type"'], ['"streamable-http"']],
      [['"url"'], ['"https://a.example.com/mcp?a=1&b=%20"']],
      [['"headers"'], list],
    ]),
    ']',
  ],
)

/** The members of a document but for its version, in any order. */
const documents = fc
  .record({
    $schema: literal(SCHEMA),
    name: textToken(fc.constant('com.example/weather')),
    description: textToken(some),
    title: textToken(some),
    remotes,
    _meta: json.map((value): Tokens => object([[[JSON.stringify(PROVIDED)], object([[['"of"'], value]])]])),
  })
  .chain((members) => fc.shuffledSubarray(Object.entries(members), { minLength: 6 }))

const spaces = fc.array(fc.constantFrom('', '', ' ', '\n\t', '\r\n'), { minLength: 1, maxLength: 7 })

test('an accepted document is served unchanged but for the space between values, and any other is refused', async (t) => {
  const { publish, get, send } = await publishing(t, { options: { publishRate: '100000/1m' } })
  const counts = { accepted: 0, refused: 0 }
  let number = 0

  await fc.assert(
    fc.asyncProperty(documents, spaces, async (members, between) => {
      const version = `1.0.${number++}`
      const all = [...members, ['version', [`"${version}"`]] as const]
      const tokens = object(all.map(([key, value]) => [[JSON.stringify(key)], value]))
      const text = tokens.map((token, index) => token + between[index % between.length]).join('')
      const validated = await send('POST', '/validate', text)
      const published = await publish(text)
      assert.equal(published.statusCode, validated.json().valid === true ? 200 : 422, published.body)
      if (published.statusCode === 422) {
        counts.refused++
        return
      }
      counts.accepted++

      const served = `{"server":${tokens.join('')},"_meta":`
      assert.ok(published.body.startsWith(served), `${published.body}\nfor ${text}`)
      const read = await get('com.example/weather', version)
      assert.ok(read.body.startsWith(served), read.body)
      const list = await send('GET', '/servers?version=latest')
      assert.ok(list.body.includes(served), list.body)
      const versions = await send('GET', '/servers/com.example%2Fweather/versions')
      assert.ok(versions.body.includes(served))
    }),
    { numRuns: runs(150) },
  )
  t.diagnostic(JSON.stringify(counts))
  assert.ok(counts.accepted > counts.refused)
})
