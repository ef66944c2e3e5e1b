import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EventStreamParser } from 'sallyport/toolkit'
import { parseJson } from '#core/toolkit/json-object.js'
import { runs } from '#kit/runs.js'
import { AnswerEvents } from '#plugins/forward/answer-events.js'
import { type Answer, UNREADABLE } from '#plugins/forward/answer-parts.js'
import { AnswerScanner } from '#plugins/forward/answer-scanner.js'
import { anything, randomFrom, word, written } from './messages-with-lists.js'

/** What is found in bytes that come in these parts. */
function found(bytes: Buffer, sizes: readonly number[] = [], isStream = false): Answer[] {
  const answers: Answer[] = []
  const scanner = new AnswerScanner((answer) => answers.push(answer))
  const reader = isStream ? new AnswerEvents(scanner) : scanner
  let start = 0
  for (let index = 0; start < bytes.length; index++) {
    const size = sizes.length === 0 ? bytes.length : (sizes[index % sizes.length] ?? 1)
    reader.scan(bytes.subarray(start, start + size))
    start += size
  }
  return answers
}

type Json = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What the scanner has to find in a text, by `JSON.parse`. */
function expected(text: string): Answer[] {
  const value = parseJson(text)
  return (Array.isArray(value) ? value : [value]).filter(isObject).flatMap((message) => {
    const { id, method, result, error = null } = message
    const hasResult = Object.hasOwn(message, 'result')
    if (method !== undefined || (!hasResult && error === null)) return []
    const isError = isObject(result) && result['isError'] === true
    return [
      {
        id: idOf(id),
        failure: error !== null ? 'rpc_error' : isError ? 'tool_error' : undefined,
        code: codeOf(error),
        tools: toolsOf(result),
      },
    ]
  })
}

const codeOf = (error: unknown): number | undefined => {
  const code = isObject(error) ? error['code'] : undefined
  return typeof code === 'number' && Number.isSafeInteger(code) ? code : undefined
}

const idOf = (id: unknown): Answer['id'] =>
  typeof id === 'string' || typeof id === 'number' || id === null ? id : undefined

function toolsOf(result: unknown): string[] {
  const tools = isObject(result) && Array.isArray(result['tools']) ? result['tools'] : []
  return tools
    .map((tool) => (isObject(tool) ? tool['name'] : undefined))
    .filter((name) => typeof name === 'string')
    .filter((name) => /^[\w./-]{1,128}$/.test(name))
}

const tool = fc.oneof(
  fc.record({ name: fc.oneof(word, anything), title: anything }, { requiredKeys: [] }),
  anything,
)
const result = fc.record(
  {
    isError: fc.oneof(fc.boolean(), anything),
    content: anything,
    tools: fc.oneof(fc.array(tool), anything),
    result: anything,
  },
  { requiredKeys: [] },
)
const id = fc.oneof(
  word,
  fc.string({ unit: 'grapheme' }),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  anything,
)
const message = fc.oneof(
  fc.record(
    {
      jsonrpc: fc.constant('2.0'),
      method: fc.oneof(word, anything),
      id,
      result: fc.oneof(result, anything),
      error: fc.oneof(anything, fc.constant(null)),
    },
    { requiredKeys: [] },
  ),
  fc.record(
    { id, method: word, params: result, isError: fc.constant(true) },
    { requiredKeys: ['id', 'isError'] },
  ),
  anything,
)
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 })
/** JSON as somebody else would write it: spaces and escapes where they may be. */
const text = fc
  .tuple(fc.oneof(message, fc.array(message)), fc.integer())
  .map(([value, seed]) => written(value, randomFrom(seed)))

test('finds in every message, in any parts, what JSON.parse finds', () => {
  fc.assert(
    fc.property(text, sizes, (json, parts) => {
      assert.deepEqual(found(Buffer.from(json), parts), expected(json))
      assert.deepEqual(found(Buffer.from(json)), expected(json))
    }),
    { numRuns: runs(2000) },
  )
})

const LINES = ['\n', '\r', '\r\n'] as const
const event = fc.record({
  data: text,
  ending: fc.constantFrom(...LINES),
  field: fc.constantFrom('data:', 'data: '),
  before: fc.constantFrom(
    '',
    ':',
    ': a comment',
    'event: message',
    'id: 1',
    'retry: 10',
    'datum: {}',
    'data',
    'Data: [',
    'dat',
  ),
  after: fc.constantFrom('', 'data', 'data:', 'id', 'data : ['),
})

test('finds in an event stream, in any parts, what a parser of events and JSON.parse find', () => {
  fc.assert(
    fc.property(fc.array(event), fc.boolean(), sizes, (events, hasMark, parts) => {
      const stream = events.map(({ data, ending, field, before, after }) => {
        // JSON may have line breaks between its tokens.
        const lines = data.split(/\r\n|\r|\n/).map((line) => `${field}${line}`)
        return [before, ...lines, after].filter((line) => line !== '').join(ending) + ending + ending
      })
      const bytes = Buffer.from((hasMark ? '\ufeff' : '') + stream.join(''))
      const parser = new EventStreamParser(1024 * 1024)
      const answers = [...parser.parse(bytes)].flatMap((each) => {
        assert.ok(typeof each === 'object' && 'data' in each)
        return expected(String(each.data))
      })
      assert.deepEqual(found(bytes, parts, true), answers)
    }),
    { numRuns: runs(1000) },
  )
})

test('bytes that are no JSON, and no events, have no answer, and do no harm', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      ':',
      ',',
      '"id"',
      '"result"',
      '"error":',
      '1',
      'null',
      'data:',
      '\n',
      '\r',
    ),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.array(piece), fc.uint8Array(), sizes, fc.boolean(), (pieces, bytes, parts, isStream) => {
      found(Buffer.concat([Buffer.from(pieces.join('')), bytes]), parts, isStream)
    }),
  )
  for (const broken of [
    '{"id":1,"result":{}',
    '{"id":1 "result":{}}',
    '{"id" 1,"result":{}}',
    '{"id":1,"result":{"a":1]}',
    '{"id":1,"result":{"isError" true}}',
    '{id:1,"result":{}}',
    'x{"id":1,"result":{}}',
    '"{"id":1,"result":{}}',
    '{"id":1,"result":"{}}',
    '"result"',
    '<html>{"id":1,"result":{}}',
    '{"id":1,"result":[[}',
  ]) {
    assert.deepEqual(found(Buffer.from(broken)), [], broken)
  }
})

test('an event that is no JSON hides none after it', () => {
  const stream = 'data: {"id":1,"resu\n\ndata: OK\n\ndata: ["\n\ndata: {"id":2,"result":{}}\n\n'
  assert.deepEqual(found(Buffer.from(stream), [], true), [
    { id: 2, failure: undefined, code: undefined, tools: [] },
  ])
})

test('the code of an error is found, and of nothing else', () => {
  const codeIn = (json: string) => found(Buffer.from(json), [1]).map(({ code }) => code)
  assert.deepEqual(codeIn('{"id":1,"error":{"data":{"code":1},"code":-32602,"message":"no"}}'), [-32602])
  assert.deepEqual(codeIn('[{"error":{"code":-1},"id":1},{"error":{"code":"-1"},"id":2}]'), [-1, undefined])
  assert.deepEqual(codeIn('{"id":1,"code":7,"result":{"code":8}}'), [undefined])
})

test('the last of a member that comes twice counts, in the message and in its result', () => {
  const failureOf = (json: string) => found(Buffer.from(json)).map(({ id, failure }) => [id, failure])
  assert.deepEqual(failureOf('{"id":1,"result":{"isError":true},"id":2,"result":{}}'), [[2, undefined]])
  assert.deepEqual(failureOf('{"id":1,"result":{"isError":true,"isError":false}}'), [[1, undefined]])
  assert.deepEqual(failureOf('{"id":1,"result":{},"\\u0072esult":{"is\\u0045rror":true}}'), [
    [1, 'tool_error'],
  ])
  assert.deepEqual(failureOf('{"id":1,"error":{},"error":null,"result":{}}'), [[1, undefined]])
})

test('a long id is not held, and of a long list and of long names no more is kept than labels may be', () => {
  const withId = (length: number) => Buffer.from(JSON.stringify({ id: 'i'.repeat(length), result: {} }))
  for (const parts of [[], [1], [100]]) {
    assert.equal(found(withId(256), parts)[0]?.id, 'i'.repeat(256))
    assert.equal(found(withId(257), parts)[0]?.id, UNREADABLE)
    assert.equal(found(withId(1_000_000), parts)[0]?.id, UNREADABLE)
  }
  const tools = [{ name: 'a'.repeat(128) }, { name: 'a'.repeat(129) }, { name: 'a b' }, { name: 'é' }]
  const many = [...tools, ...Array.from({ length: 2000 }, (_, index) => ({ name: `tool-${index}` }))]
  const [answer] = found(Buffer.from(JSON.stringify({ id: 1, result: { tools: many } })), [7])
  assert.deepEqual(answer?.tools, [
    'a'.repeat(128),
    ...Array.from({ length: 999 }, (_, index) => `tool-${index}`),
  ])
})
