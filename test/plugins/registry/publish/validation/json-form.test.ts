import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { jsonForm } from '#plugins/registry/publish/validation/json-form.js'

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('a text is JSON when JSON.parse says so, and every value of it is visited where it begins', () => {
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"\\u00e9"',
    '1',
    '-0.5e+3',
    '01',
    'true',
    'nul',
    ' ',
    '\n',
    '\t',
    '"',
    '\\',
  )
  const texts = fc.oneof(
    fc.json({ maxDepth: 5 }),
    fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join('')),
    fc
      .tuple(fc.json(), fc.nat(), fc.string())
      .map(([text, at, other]) => text.slice(0, at % (text.length + 1)) + other),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const { brokenAt } = jsonForm(text, (_path, start) => assert.ok(start <= text.length))
      assert.equal(brokenAt === undefined, isJson(text), text)
    }),
    { numRuns: runs(3_000) },
  )
})

test('the position where a text stops being JSON is reported', () => {
  assert.equal(jsonForm('{"a": 1,\n "b": nope}').brokenAt, 15)
  assert.equal(jsonForm('{"a": 1').brokenAt, 7)
  assert.equal(jsonForm('[1] x').brokenAt, 4)
})

test('a text of more than 5,000 values, or 500 lists and objects, is not read on', () => {
  const findings = (item: string, count: number) =>
    jsonForm(`[${Array(count).fill(item).join()}]`).findings.map(({ reference }) => reference)
  for (const [item, most] of [
    ['1', 4_999],
    ['[]', 499],
    ['{}', 499],
  ] as const) {
    assert.deepEqual(findings(item, most), [])
    assert.deepEqual(findings(item, most + 1), ['too-many-values'])
  }
})
