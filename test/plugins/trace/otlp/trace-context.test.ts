import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { contextOf, headersOf } from '../../../../plugins/trace/otlp/trace-context.js'

const hex = (length: number) =>
  fc
    .array(fc.constantFrom(...Array.from('0123456789abcdef')), { minLength: length, maxLength: length })
    .map((digits) => digits.join(''))
const traceId = hex(32).filter((id) => !/^0+$/.test(id))
const spanId = hex(16).filter((id) => !/^0+$/.test(id))
const flags = hex(2)

const key = fc
  .tuple(fc.constantFrom('a', 'z', '0', '9'), fc.stringMatching(/^[a-z0-9_\-*/@]{0,12}$/))
  .map(([first, rest]) => first + rest)
const value = fc.stringMatching(/^[ !-+\--<>-~]{0,20}[!-+\--<>-~]$/)
const members = (maxLength: number, minLength = 1) =>
  fc
    .uniqueArray(fc.tuple(key, value), { minLength, maxLength, selector: ([name]) => name })
    .map((pairs) => pairs.map(([name, said]) => `${name}=${said.trim()}`))

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const withState = (tracestate: string) => contextOf({ traceparent: PARENT, tracestate })

test('a valid parent is read and sent on unchanged', () => {
  fc.assert(
    fc.property(traceId, spanId, flags, members(8), (trace, span, bits, state) => {
      const sent = { traceparent: `00-${trace}-${span}-${bits}`, tracestate: state.join(',') }
      const context = contextOf(sent)
      assert.ok(context)
      assert.deepEqual(context, {
        traceId: trace,
        spanId: span,
        flags: Number.parseInt(bits, 16) & 3,
        state: state.join(','),
      })
      const [parent, ...others] = headersOf(context)
      assert.deepEqual(parent, ['traceparent', `00-${trace}-${span}-0${context.flags}`])
      assert.deepEqual(others, [['tracestate', state.join(',')]])
    }),
  )
})

test('the known fields of a later version are read, and sent on as version 00', () => {
  for (const [version, more] of [
    ['01', ''],
    ['fe', '-what-comes-later'],
    ['cc', '-'],
  ])
    assert.deepEqual(contextOf({ traceparent: PARENT.replace('00', version ?? '') + more })?.flags, 1)
})

const invalid: readonly string[] = [
  '',
  'x',
  PARENT.replace('00', 'ff'),
  PARENT.replace('00', '0g'),
  PARENT.replace('00', '0'),
  PARENT.replace(/-0af\w+/, `-${'0'.repeat(32)}`),
  PARENT.replace(/-b7\w+/, `-${'0'.repeat(16)}`),
  PARENT.toUpperCase(),
  PARENT.slice(0, -1),
  `${PARENT}0`,
  `${PARENT}-`,
  `${PARENT}-more`,
  ` ${PARENT}`,
  `${PARENT} `,
  `${PARENT}\n`,
  `${PARENT}, ${PARENT}`,
  `${PARENT},${PARENT}`,
  `${PARENT.replace('00', '01')}, ${PARENT}`,
  `${PARENT.replace('00', '01')}-x,${PARENT}`,
  `${PARENT.replace('00', '01')}x`,
  PARENT.replaceAll('-', '_'),
  `${PARENT.replace('00', '01')}-${'x'.repeat(1000)}`,
]

test('an invalid parent is ignored', () => {
  assert.ok(contextOf({ traceparent: PARENT }))
  for (const traceparent of invalid)
    assert.equal(contextOf({ traceparent, tracestate: 'a=1' }), undefined, traceparent)
  assert.equal(contextOf(undefined), undefined)
  assert.equal(contextOf({ tracestate: 'a=1' }), undefined)
})

const mangled = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc
    .tuple(fc.nat(PARENT.length), fc.nat(3), fc.string({ maxLength: 3 }))
    .map(([at, gone, put]) => PARENT.slice(0, at) + put + PARENT.slice(at + gone)),
  fc.constantFrom(...invalid),
)
const anyState = fc.oneof(
  fc.string({ maxLength: 700 }),
  members(40).map((all) => all.join(' ,\t')),
  fc
    .array(
      fc.constantFrom('a=1', 'b=', '=c', ' d=4 ', '', 'A=1', 'e', 'a=1', 'f=\u00e4', `g=${'x'.repeat(200)}`),
    )
    .map((all) => all.join(',')),
)

// Level 2, 3.2 and 3.3, written down a second time.
const VALID_PARENT = /^00-(?!0+-)[\da-f]{32}-(?!0+-)[\da-f]{16}-0[0-3]$/
const isValidState = (state: string): boolean => {
  const all = state.split(',')
  const names = all.map((member) => member.split('=')[0])
  return (
    state.length <= 512 &&
    all.length <= 32 &&
    new Set(names).size === all.length &&
    all.every((member) => /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/.test(member))
  )
}

test('whatever the input, the context that is sent on is valid', () => {
  let parents = 0
  let states = 0
  fc.assert(
    fc.property(fc.oneof(mangled, fc.constant(PARENT)), anyState, (traceparent, tracestate) => {
      const context = contextOf({ traceparent, tracestate })
      if (context === undefined) return
      parents++
      const [[, parent] = ['', ''], state] = headersOf(context)
      assert.match(parent, VALID_PARENT)
      assert.equal(parent.slice(3, 52), traceparent.slice(3, 52))
      if (state === undefined) return
      states++
      assert.ok(isValidState(state[1]), state[1])
    }),
    { numRuns: runs(2000) },
  )
  assert.ok(parents > runs(100) / 2 && states > runs(50) / 2, `${parents} ${states}`)
})

test('an invalid tracestate is dropped whole, and its parent is kept', () => {
  for (const tracestate of [
    '',
    ',',
    'a',
    'a=',
    '=1',
    'A=1',
    'a=1,a=2',
    'a=1,b=2=3',
    'a=\u00e4',
    'a=1\n',
    'a=1,\u00a0b=2',
    '-a=1',
    'a b=1',
    `${'a'.repeat(257)}=1`,
    `a=${'1'.repeat(257)}`,
    Array.from({ length: 33 }, (_, at) => `k${at}=1`).join(','),
    `a=1${','.repeat(9000)}`,
  ]) {
    const context = withState(tracestate)
    assert.ok(context)
    assert.equal(context.state, undefined, tracestate)
  }
})

test('white space and empty members of a tracestate are left out', () => {
  assert.equal(withState(' a=1 ,\t,b@c=2 3\t,,')?.state, 'a=1,b@c=2 3')
  const most = Array.from({ length: 32 }, (_, at) => `k${at}=1`).join(',')
  assert.equal(withState(most)?.state, most)
})

test('a tracestate of more than 512 characters loses its long members, and then those at its end', () => {
  const long = `long=${'x'.repeat(200)}`
  const many = Array.from({ length: 30 }, (_, at) => `k${at}=${'y'.repeat(14)}`)
  const state = withState([long, ...many].join(','))?.state ?? ''
  assert.ok(!state.includes('long'))
  assert.ok(state.startsWith(`${many[0]},`) && state.length <= 512 && state.length > 480, state)
  assert.ok([long, ...many].join(',').includes(state))
})
