import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isJsonObject, jsonObject } from 'sallyport/toolkit'
import { parseJson } from '#core/toolkit/json-object.js'
import { runs } from '#kit/runs.js'
import { randomFrom, written } from '../../plugins/forward/messages-with-lists.js'

/** As JSON has it. `JSON.parse` cannot tell: it may take one name for another, as said at `parseJson`. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]))
  return Object.is(value, -0) ? 0 : value
}

test('only the text of a JSON object gives an object', () => {
  for (const other of ['', '{', '[]', 'null', '1', '"{}"', '{} {}'])
    assert.equal(jsonObject(other), undefined)
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const read = jsonObject(JSON.stringify(value))
      assert.deepEqual(read, isJsonObject(value) ? plain(value) : undefined)
    }),
  )
})

test('a name with escapes is read correctly, whatever JSON was parsed before', () => {
  const names = ['sub', 'https://roles', '"', 'a\\b']
  for (const name of names) {
    const escapes = Array.from(
      name,
      (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ).join('')
    const alike = JSON.stringify(escapes.slice(0, name.length))
    for (let times = 0; times < 3; times++) jsonObject(`{"iss":"a","aud":"b",${alike}:1}`)
    assert.deepEqual(jsonObject(`{"iss":"a","aud":"b","${escapes}":1}`), { iss: 'a', aud: 'b', [name]: 1 })
  }
})

test('every JSON value round-trips', () => {
  const member = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('__proto__', '1', '\\', '":', '~'))
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue({ maxDepth: 0 }),
      member,
      tie('object'),
      fc.array(tie('tree')),
    ),
    object: fc.dictionary(member, tie('tree')),
  }))
  fc.assert(
    fc.property(tree, fc.integer(), (value, seed) => {
      assert.deepEqual(parseJson(written(value, randomFrom(seed))), plain(value))
    }),
    { numRuns: runs(1000) },
  )
  assert.deepEqual(parseJson('{"1":1,"\\u0031":2,"a":3,"\\u0061":4}'), { 1: 2, a: 4 })
  const quotes = `"${'\\"'.repeat(500_000)}`
  for (const text of [quotes, '"\\', '{"a\\":1}', '{"\\x":1}', '"a" : 1 \\', '["a\\n":1]'])
    assert.throws(() => parseJson(text), SyntaxError)
})
