import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countMembers, ENVELOPE, INNER, PARAMS, resembles } from '#core/mcp/json-members.js'
import { parsed } from '#core/mcp/message.js'
import { runs } from '#kit/runs.js'

/** JSON as it is written: objects are lists of members, so that a name may occur twice. */
type Written =
  | { readonly text: string }
  | { readonly items: readonly Written[] }
  | { readonly members: readonly (readonly [name: string, value: Written])[] }

const NAMES = [
  ...[...ENVELOPE, ...PARAMS, ...INNER],
  ...['Method', 'PARAMS', 'ID', 'Name', 'urı', 'ref\0', ' name', 'uri\n', 'name\0x', 'other', '__proto__'],
  ...['reſult', 'paramſ', 'jſonrpc', 'tooL', 'reſourceSubscriptions', '', 'constructor', '1'],
]

const written = fc.letrec<{ value: Written; object: Written; list: Written }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc
      .constantFrom(
        ...[
          '1',
          'null',
          '"a"',
          '"{\\"a\\":[1,"',
          '"\\\\"',
          '-1e5',
          '":"',
          '"\\u0022,"',
          '"\\""',
          '"\\\\\\""',
        ],
      )
      .map((text) => ({ text })),
    tie('object'),
    tie('list'),
  ),
  object: fc
    .array(fc.tuple(fc.constantFrom(...NAMES), tie('value')), { maxLength: 4 })
    .map((members) => ({ members })),
  list: fc.array(tie('value'), { maxLength: 3 }).map((items) => ({ items })),
}))

const message = fc
  .tuple(
    fc.constantFrom('"tools/call"', '"resources\\/read"', '"own"', '1'),
    fc.array(fc.tuple(fc.constantFrom('params', 'params', 'id', ...NAMES), written.object), { maxLength: 4 }),
  )
  .map(([text, members]): Written => ({ members: [['method', { text }], ...members] }))

const space = fc.constantFrom('', '', ' ', '\n\t')
const escaped = (name: string): string =>
  `"${name.replace(/[\s\S]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`

/** The text, with random white space and escapes everywhere. */
function textOf(value: Written, draw: () => string, escapes: () => boolean): string {
  const s = draw
  if ('text' in value) return s() + value.text + s()
  if ('items' in value)
    return `${s()}[${s()}${value.items.map((item) => textOf(item, draw, escapes)).join(',')}]${s()}`
  const members = value.members.map(
    ([name, member]) =>
      `${s()}${escapes() ? escaped(name) : JSON.stringify(name)}${s()}:${textOf(member, draw, escapes)}`,
  )
  return `${s()}{${s()}${members.join(',')}}${s()}`
}

const fold = (name: string): string => (name.split('\0')[0] ?? '').trim().toUpperCase().toLowerCase()

/** Slow and obvious: compares every relevant object member by member. */
function isAmbiguous(
  value: Written,
  known: ReadonlySet<string>,
  next: (name: string, level: number) => ReadonlySet<string> | undefined,
  level = 1,
): boolean {
  if (!('members' in value)) return false
  const names = value.members.map(([name]) => name)
  if (new Set(names).size < names.length) return true
  if (names.some((name) => !known.has(name) && known.has(fold(name)))) return true
  return value.members.some(([name, member]) => {
    const inner = level > 2 ? undefined : next(name, level)
    return inner !== undefined && isAmbiguous(member, inner, next, level + 1)
  })
}
const isInner = (name: string) => name === 'ref' || name === 'notifications'

/** Only methods that name a subject have known members in their `params`. */
function namesSomething(envelope: Written): boolean {
  if (!('members' in envelope)) return false
  const method = envelope.members.findLast(([name]) => name === 'method')?.[1]
  return method !== undefined && 'text' in method && /^"(tools|resources)/.test(method.text)
}

const UNKNOWN: ReadonlySet<string> = new Set()

function hasPrototype(value: Written): boolean {
  if ('items' in value) return value.items.some(hasPrototype)
  return (
    'members' in value && value.members.some(([name, member]) => name === '__proto__' || hasPrototype(member))
  )
}

function expected(value: Written): boolean {
  if (hasPrototype(value)) return true
  const envelopes = 'items' in value ? value.items : [value]
  return envelopes.some((envelope) => {
    const isKnown = namesSomething(envelope)
    const inParams = (name: string) => (isInner(name) ? (isKnown ? INNER : UNKNOWN) : undefined)
    const inEnvelope = (name: string) => (name === 'params' ? (isKnown ? PARAMS : UNKNOWN) : undefined)
    return isAmbiguous(envelope, ENVELOPE, (name, level) => (level === 1 ? inEnvelope(name) : inParams(name)))
  })
}

const codeOf = (text: string): string | undefined => {
  try {
    parsed(text)
    return undefined
  } catch (error) {
    return (error as { code: string }).code
  }
}

function processorTime(run: () => void): number {
  const before = process.cpuUsage()
  run()
  return process.cpuUsage(before).user
}

test('a text is refused exactly where a slow parser of the test finds a name twice, or a name that resembles a known one', () => {
  const texts = fc.oneof(
    message,
    fc.array(fc.oneof(message, written.value), { maxLength: 4 }).map((items) => ({ items })),
    written.value,
  )
  let refused = 0
  fc.assert(
    fc.property(
      texts,
      fc.infiniteStream(space),
      fc.infiniteStream(fc.boolean()),
      (value, spaces, escapes) => {
        const text = textOf(
          value,
          () => String(spaces.next().value),
          () => escapes.next().value === true,
        )
        const code = codeOf(text)
        if (code !== undefined) refused++
        assert.equal(code, expected(value) ? 'MESSAGE_AMBIGUOUS' : undefined, text)
      },
    ),
    { numRuns: runs(3_000) },
  )
  assert.ok(refused > runs(300) / 2)
})

test('any text is read or refused, and never crashes the parser', () => {
  const piece = fc.constantFrom(
    ...['[', ']', '{', '}', '"', '\\', ':', ',', 'params', '"params"'],
    '1',
    ' ',
    '\\u',
    '\0',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join('')
      let isJson = true
      try {
        JSON.parse(text)
      } catch {
        isJson = false
      }
      if (!isJson) assert.equal(codeOf(text), 'MESSAGE_NOT_JSON')
    }),
    { numRuns: runs(2_000) },
  )
})

test('1,000 levels are read, and a deeper text is refused', () => {
  const nested = (levels: number) => `{"params":{"a":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}}`
  assert.equal(codeOf(nested(1_000)), undefined)
  assert.equal(codeOf(nested(1_001)), 'MESSAGE_TOO_LARGE')
  for (const levels of [5_000, 5_000_000]) {
    assert.equal(codeOf('['.repeat(levels)), 'MESSAGE_TOO_LARGE')
    assert.equal(codeOf('{"a":'.repeat(levels)), 'MESSAGE_TOO_LARGE')
  }
  assert.equal(codeOf(JSON.stringify({ a: '['.repeat(5_000) })), undefined)
})

test('the objects that determine the calls of a message have at most 10,000 members together', () => {
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, 1]))
  const batch = (count: number) => JSON.stringify([members(5_000), members(count)])
  assert.deepEqual([codeOf(batch(5_000)), codeOf(batch(5_001))], [undefined, 'MESSAGE_TOO_LARGE'])
  assert.equal(codeOf(JSON.stringify({ params: { arguments: members(20_000) } })), undefined)
})

test('the arguments of a call may hold any members', () => {
  for (const inside of ['"a":1,"a":2', '"Method":1,"METHOD":2', '"params":{"name":1,"Name":2}'])
    assert.equal(codeOf(`{"method":"tools/call","params":{"name":"x","arguments":{${inside}}}}`), undefined)
  assert.equal(countMembers('{"a":{"b":1},"params":{"c":[{"d":1}]}}'), 3)
})

test('a name resembles a known one by case in all scripts, by space and by NUL', () => {
  for (const name of [
    'Method',
    'METHOD',
    'method ',
    '\tmethod',
    'method\0',
    'method\0x',
    '\ufeffmethod',
    'method\u00a0',
  ])
    assert.equal(resembles(name, ENVELOPE), true, JSON.stringify(name))
  assert.equal(resembles('paramſ', ENVELOPE), true)
  assert.equal(resembles('K', new Set(['k'])), true)
  for (const name of ['method', 'methods', 'met hod', '', '_meta'])
    assert.equal(resembles(name, ENVELOPE), false)
})

test('megabytes of a batch of subscriptions are refused before they are parsed', () => {
  const uris = Array.from({ length: 1_700 }, (_, index) => `file:///some/where/${index}`)
  const listen = (id: number) => ({
    jsonrpc: '2.0',
    id,
    method: 'subscriptions/listen',
    params: { notifications: { resourceSubscriptions: uris } },
  })
  const text = JSON.stringify(Array.from({ length: 100 }, (_, index) => listen(index)))
  const took = processorTime(() => assert.equal(codeOf(text), 'MESSAGE_TOO_LARGE'))
  assert.ok(took < 50_000, `${took} microseconds`)
})

test('a name of megabytes is never folded to compare it', () => {
  const name = 'ŉ'.repeat(4_000_000)
  const took = processorTime(() => assert.equal(resembles(name, PARAMS), false))
  assert.ok(took < 20_000, `${took} microseconds`)
})

test('a text whose many names would take seconds to parse is refused before parsing', () => {
  const holding = (count: number): string => {
    const members = Array.from({ length: count }, (_, index) => `"${index}":1`)
    return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{${members}}}}`
  }
  assert.equal(codeOf(holding(99_994)), undefined)
  assert.equal(codeOf(holding(99_995)), 'MESSAGE_TOO_LARGE')
})

test('a text that would take hundreds of megabytes once parsed is refused before parsing', () => {
  const holding = (list: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":[${list}]}}`
  for (const item of ['{}', '[]']) {
    assert.equal(codeOf(holding(`${item},`.repeat(199_990) + item)), undefined)
    assert.equal(codeOf(holding(`${item},`.repeat(200_000) + item)), 'MESSAGE_TOO_LARGE')
  }
  assert.equal(codeOf(holding(`${'1,'.repeat(999_990)}1`)), undefined)
  assert.equal(codeOf(holding(`${'1,'.repeat(1_000_000)}1`)), 'MESSAGE_TOO_LARGE')
})
