import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { withTrace } from '#core/mcp/trace-meta.js'
import { parseJson } from '#core/toolkit/json-object.js'
import { runs } from '#kit/runs.js'
import { anything, randomFrom, word, written } from '../../plugins/forward/messages-with-lists.js'

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const tracestate = 'vendor=a"b'
const both = [
  ['traceparent', traceparent],
  ['Tracestate', tracestate],
] as const

type Json = Record<string, unknown>
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The expected content of a body, by `JSON.parse`. */
function expected(message: unknown, set: Json): unknown {
  if (Array.isArray(message))
    return message.map((each: unknown) => (Array.isArray(each) ? each : expected(each, set)))
  if (!isObject(message) || !Object.hasOwn(message, 'method')) return message
  const { params = {} } = message
  if (!isObject(params)) return message
  const { _meta: meta = {} } = params
  return isObject(meta) ? { ...message, params: { ...params, _meta: { ...meta, ...set } } } : message
}

/** Messages whose `_meta` has these members too. */
function messages(...members: readonly string[]) {
  const meta = fc.dictionary(fc.oneof(word, fc.constantFrom('progressToken', ...members)), anything)
  const params = fc.record(
    { name: word, arguments: anything, _meta: fc.oneof(meta, meta, anything), method: word },
    { requiredKeys: [] },
  )
  const number = fc.double({ noNaN: true, noDefaultInfinity: true })
  const called = { method: word, params: fc.oneof(params, params, anything) }
  const message = fc.oneof(
    fc.record({ jsonrpc: fc.constant('2.0'), id: fc.oneof(word, number), ...called }, { requiredKeys: [] }),
    fc.record({ id: word, result: anything }),
    anything,
  )
  return fc
    .tuple(fc.oneof(message, fc.array(message)), fc.integer())
    .map(([value, seed]) => written(value, randomFrom(seed)))
}

test('each call has the trace in its _meta, whatever the client wrote there', () => {
  fc.assert(
    fc.property(messages('traceparent', 'tracestate'), (text) => {
      const changed = String(withTrace(Buffer.from(text), both))
      assert.deepEqual(parseJson(changed), expected(parseJson(text), { traceparent, tracestate }))
    }),
    { numRuns: runs(2000) },
  )
})

test('without the added members the bytes are those of the client', () => {
  const added = `"traceparent":${JSON.stringify(traceparent)},"tracestate":${JSON.stringify(tracestate)}`
  const forms = [`"params":{"_meta":{${added}}}`, `"_meta":{${added}}`, added]
  fc.assert(
    fc.property(messages(), (text) => {
      // A list is wrapped, so that at most one member is added.
      const one = text.trimStart().startsWith('[') ? `{"method":"a","params":{"b":${text}}}` : text
      const changed = String(withTrace(Buffer.from(one), both))
      const without = forms.flatMap((form) => [changed.replace(`${form},`, ''), changed.replace(form, '')])
      assert.ok([changed, ...without].includes(one), changed)
    }),
    { numRuns: runs(1000) },
  )
})

test('the bytes around the members that are set stay unchanged', () => {
  const set = (text: string): string => String(withTrace(Buffer.from(text), [['traceparent', 'T']]))
  const cases: readonly (readonly [string, string])[] = [
    ['{"method":"a"}', '{"params":{"_meta":{"traceparent":"T"}},"method":"a"}'],
    ['{"method":"a","params":{}}', '{"method":"a","params":{"_meta":{"traceparent":"T"}}}'],
    [
      ' { "params" : { "b" : 1.0 } ,\n"method":"a"} ',
      ' { "params" : {"_meta":{"traceparent":"T"}, "b" : 1.0 } ,\n"method":"a"} ',
    ],
    ['{"method":"a","params":{"_meta":{ }}}', '{"method":"a","params":{"_meta":{"traceparent":"T" }}}'],
    [
      '{"method":"a","params":{"_meta":{"b":1e400}}}',
      '{"method":"a","params":{"_meta":{"traceparent":"T","b":1e400}}}',
    ],
    [
      '{"method":"a","params":{"_meta":{"tracestate":[{}],"traceparent":"x"}}}',
      '{"method":"a","params":{"_meta":{"tracestate":"","traceparent":"T"}}}',
    ],
    [
      '{"method":"a","params":{"\\u005fmeta":{"trace\\u0070arent" : null }}}',
      '{"method":"a","params":{"\\u005fmeta":{"trace\\u0070arent" : "T" }}}',
    ],
    [
      '{"method":"a","params":{"_meta":{"traceparent":"x","traceparent":"y"}}}',
      '{"method":"a","params":{"_meta":{"traceparent":"T","traceparent":"T"}}}',
    ],
    [
      '{"method":"a","params":{"_meta":{"tracestate":"x","traceparent":"x","tracestate":1}}}',
      '{"method":"a","params":{"_meta":{"tracestate":"","traceparent":"T","tracestate":""}}}',
    ],
    [
      '{"params":{"_meta":{"b":1}},"params":{"_meta":{},"_meta":{"c":1}},"method":"a"}',
      '{"params":{"_meta":{"traceparent":"T","b":1}},"params":{"_meta":{"traceparent":"T"},"_meta":{"traceparent":"T","c":1}},"method":"a"}',
    ],
    [
      '{"method":"a","params":{"a":12345678901234567890,"a":"\\ud800\\/é"}}',
      '{"method":"a","params":{"_meta":{"traceparent":"T"},"a":12345678901234567890,"a":"\\ud800\\/é"}}',
    ],
    [
      '[{"id":1,"result":{}}, {"method":"a"} ,{"method":"b"}]',
      '[{"id":1,"result":{}}, {"params":{"_meta":{"traceparent":"T"}},"method":"a"} ,{"params":{"_meta":{"traceparent":"T"}},"method":"b"}]',
    ],
  ]
  for (const [before, after] of cases) assert.equal(set(before), after)
  for (const same of [
    '{"method":"a","params":[{}]}',
    '{"method":"a","params":null}',
    '{"method":"a","params":{"_meta":[]}}',
    '{"id":1,"result":{"method":"a","params":{}}}',
    '{"id":1,"error":{},"params":{}}',
    '{}',
    '[]',
    '1',
  ]) {
    assert.equal(set(same), same)
  }
})

test('without a traceparent no member is set, and other headers are never written', () => {
  const text = Buffer.from('{"method":"a","params":{"_meta":{"traceparent":"x"}}}')
  assert.equal(withTrace(text, []), text)
  assert.equal(withTrace(text, [['tracestate', 'a=b']]), text)
  const changed = withTrace(text, [...both, ['baggage', 'a=b']])
  assert.deepEqual(JSON.parse(String(changed)), {
    method: 'a',
    params: { _meta: { traceparent, tracestate } },
  })
})

test('a body of a million members takes no stack and little time', () => {
  const members = '"traceparent":"x","a":[[]],'.repeat(200_000)
  const text = `{"method":"a","params":{"_meta":{${members}"b":1}}}`
  const changed = JSON.parse(String(withTrace(Buffer.from(text), both)))
  assert.equal(changed.params._meta.traceparent, traceparent)
})

test('text that is no JSON throws, and never ends in a loop', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom(
          '{',
          '}',
          '[',
          ']',
          '"',
          ':',
          ',',
          '"method"',
          '"params"',
          '{"_meta":',
          '1',
          '\\',
          ' ',
        ),
      ),
      (pieces) => {
        const text = pieces.join('')
        try {
          withTrace(Buffer.from(text), both)
        } catch (error) {
          assert.ok(error instanceof SyntaxError)
        }
      },
    ),
    { numRuns: runs(3000) },
  )
})
