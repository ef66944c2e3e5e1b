import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LogScrubber } from 'sallyport/embed'
import { runs } from '#kit/runs.js'

test('the scrubber knows a secret until every `add` of it was undone', () => {
  const scrubber = new LogScrubber()
  const [first, second] = [scrubber.add('swordfish'), scrubber.add('swordfish')]
  first()
  first()
  assert.equal(scrubber.knows('swordfish'), true)
  assert.equal(scrubber.knows('sword'), false)
  second()
  assert.equal(scrubber.knows('swordfish'), false)
})

test('a text of three letters is not scrubbed', () => {
  const scrubber = new LogScrubber()
  scrubber.add('abc')
  assert.equal(scrubber.knows('abc'), false)
})

const secretNames = [
  'authorization',
  'Cookie',
  'x-api-key',
  'API_KEY',
  'apikey',
  'passWord',
  'device_code',
  'access_to\u212aen',
  'codeVerifier',
]
const secrets = [
  'swordfish',
  '12345678',
  'c3dvcmRmaXNo',
  'Bearer abc',
  'eyJh.e30.x',
  'https://u:p@h/',
  '/x?y=1',
  'code=1',
]
const words = fc.oneof(
  fc.constantFrom(...secretNames, ...secrets),
  fc.string(),
  fc.string({ unit: 'binary' }),
)

test('a line stays unparsed only if the scrubber would replace nothing in it', () => {
  const scrubber = new LogScrubber()
  scrubber.add('swordfish')
  scrubber.add('12345678')
  const scrubbed = (fields: object) => JSON.parse(scrubber.line(`${JSON.stringify(fields)}\n`)).value
  const value = fc.oneof(
    words,
    fc.integer(),
    fc.constantFrom(12_345_678, true, null),
    fc.array(words),
    fc.dictionary(words, words),
  )

  fc.assert(
    // A line with a backslash is always taken apart.
    fc.property(value, (value) => assert.deepEqual(scrubbed({ value }), scrubbed({ value, escaped: '\\' }))),
    { numRuns: runs(2_000) },
  )
})
