import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { McpMessage } from 'sallyport'
import { runs } from '#kit/runs.js'
import { twoClocks } from '#kit/two-clocks.js'
import { Charges } from '#plugins/limit/requests/charges.js'

const rate = { count: 1, seconds: 60 }
const charges = new Charges([
  { by: 'tool', rate },
  { by: 'caller+tool', rate },
])

const calling = (...names: readonly string[]): McpMessage => ({
  protocolVersion: undefined,
  isBatch: names.length !== 1,
  calls: names.map((name) => ({
    kind: 'request',
    method: 'tools/call',
    id: 1,
    subjects: [{ kind: 'tool', name }],
  })),
})

test('two tools, or two callers of one, never count as one, and names are short', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '#', '["a"]', '2001:db8::1', '2001:db8::2', '","', 'x'.repeat(200), 'x'.repeat(201)),
  )
  fc.assert(
    fc.property(text, text, text, text, (caller, tool, otherCaller, otherTool) => {
      const of = (who: string, what: string) =>
        charges.ofCalls({ caller: JSON.stringify(['corp', who]), address: '192.0.2.1' }, calling(what))
      const [byTool, byBoth] = of(caller, tool)
      const [other, otherBoth] = of(otherCaller, otherTool)
      assert.equal(byTool?.name === other?.name, tool === otherTool)
      assert.equal(byBoth?.name === otherBoth?.name, tool === otherTool && caller === otherCaller)
      assert.notEqual(byTool?.name, otherBoth?.name)
      for (const each of [byTool, byBoth]) assert.ok((each?.name.length ?? 0) <= 128)
    }),
    { numRuns: runs(1_000) },
  )
})

test('the calls of one tool in a batch are counted together', () => {
  const counted = charges.ofCalls({ caller: 'c', address: 'a' }, calling('x', 'y', 'x'))
  assert.deepEqual(
    counted.map(({ index, cost }) => [index, cost]),
    [
      ...[
        [0, 2],
        [1, 2],
      ],
      ...[
        [0, 1],
        [1, 1],
      ],
    ],
  )
})

test('two limits that fit one tool count it each', () => {
  const limited = new Charges([
    { by: 'tool', rate },
    { by: 'tool', rate, tools: ['x*'] },
  ])
  const counted = limited.ofCalls({ caller: 'c', address: 'a' }, calling('x'))
  assert.deepEqual(
    counted.map(({ index, cost }) => [index, cost]),
    [
      [0, 1],
      [1, 1],
    ],
  )
})

test('a call counts for its caller once: with its request, or as a further call of a batch', () => {
  const limited = new Charges([{ by: 'caller', rate }])
  const key = { caller: 'c', address: 'a' }
  assert.deepEqual(limited.ofCalls(key, calling('x')), [])
  assert.deepEqual(limited.ofCalls(key, calling('x', 'y', 'x')), [
    { index: 0, name: 'c', cost: 2, before: 1 },
  ])
})

test('callers with long names count under short ones, each for itself', () => {
  const limited = new Charges([{ by: 'caller', rate }])
  const names = ['a', 'b'].map((end) => {
    const [charge] = limited.ofRequest({ caller: `["corp","${'x'.repeat(300)}${end}"]`, address: 'a' }, 1)
    return charge?.name ?? ''
  })
  assert.notEqual(names[0], names[1])
  for (const name of names) assert.ok(name.length <= 128 && name.startsWith('#'))
})

test('a prompt or a resource of the same name counts for no tool', () => {
  const [call] = calling('x').calls
  assert.ok(call)
  const calls = (['prompt', 'resource'] as const).map((kind) => ({
    ...call,
    subjects: [{ kind, name: 'x' }],
  }))
  const counted = charges.ofCalls({ caller: 'c', address: 'a' }, { ...calling(), calls })
  assert.deepEqual(counted, [])
})

test('names over the quota count as one, until the end of the span that introduced them', (t) => {
  const clock = twoClocks(t)
  let end = 0
  for (const [burst, seconds] of [
    [undefined, 60],
    [1, 600],
  ] as const) {
    const limited = new Charges([{ by: 'tool', rate, burst }])
    const namesOf = (...tools: readonly string[]) =>
      limited.ofCalls({ caller: 'c', address: 'a' }, calling(...tools)).map(({ name, cost }) => [name, cost])
    namesOf(...Array.from({ length: 1_000 }, (_, index) => `made up ${index}`))

    assert.deepEqual(namesOf('x', 'y'), [['["c",null]', 2]])
    end += seconds * 1_000
    clock.passed(end - 1_000)
    assert.deepEqual(namesOf('x', 'y'), [['["c",null]', 2]])
    end += 1_000
    clock.passed(end)
    assert.deepEqual(namesOf('x', 'y'), [
      ['["x"]', 1],
      ['["y"]', 1],
    ])
  }
})
