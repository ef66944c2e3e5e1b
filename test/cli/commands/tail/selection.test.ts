import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { eventText, jsonText } from '#cli/commands/tail/event-text.js'
import {
  auditLineOf,
  type FilterFlags,
  filterOf,
  LastLines,
  Selection,
} from '#cli/commands/tail/selection.js'

const plain = (_style: string, text: string): string => text

// Few letters, so that patterns match; and all that is awkward in JSON, in UTF-8 or on a terminal.
const letter = fc.constantFrom(
  'a',
  'b',
  '/',
  '*',
  'ä',
  '"',
  '\\',
  '\n',
  '\u001b',
  '\u009b',
  '\u007f',
  '\u202e',
  '\u2028',
  '😀',
  '\ud800',
)
const anyWord = fc.array(letter, { maxLength: 4 }).map((all) => all.join(''))
const word = fc.oneof(anyWord, fc.constantFrom('a', 'a/b', 'ä', 'tools/call', 'denied', '__proto__'))
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const number = fc.oneof(fc.integer(), fc.double())
const outcome = fc.constantFrom('allowed', 'denied', 'failed')

const event = fc.record({
  at: fc.oneof(
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.constant('2026-01-31'),
  ),
  kind: fc.constantFrom('called', 'published', 'newer'),
  requestId: word,
  traceId: optional(word),
  provider: optional(word),
  subject: optional(word),
  actors: optional(fc.array(word, { maxLength: 2 })),
  address: optional(word),
  method: word,
  route: word,
  status: optional(number),
  mcp: optional(
    fc.record({ method: word, kind: optional(fc.constantFrom('tool', 'prompt')), name: optional(word) }),
  ),
  outcome: optional(outcome),
  policy: optional(word),
  causes: optional(fc.array(word, { maxLength: 2 })),
  durationMs: optional(number),
  server: optional(fc.record({ name: word, action: word, version: optional(word) })),
})
const member = fc.constantFrom(...['at', 'kind', 'subject', 'actors', 'causes', 'status', 'mcp', 'server'])
const odd = fc.oneof(
  fc.jsonValue(),
  fc.tuple(event, member, fc.jsonValue()).map(([usual, name, value]) => ({ ...usual, [name]: value })),
)
/** JSON says some characters in two ways: they are escaped, or stand there. */
const escaped = (text: string): string =>
  text.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
const json = fc
  .tuple(fc.oneof({ weight: 4, arbitrary: event }, odd), fc.boolean())
  .map(([value, asCodes]) => (asCodes ? escaped(JSON.stringify(value)) : JSON.stringify(value)))
const whole = json.map((text) => Buffer.from(text))
const line = fc.oneof(
  { weight: 6, arbitrary: whole },
  whole.map((bytes) => bytes.subarray(0, bytes.length / 2)),
  fc.tuple(whole, fc.nat(), fc.nat(255)).map(([bytes, at, byte]) => {
    bytes[at % bytes.length] = byte
    return bytes
  }),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
)

const outcomes = fc.array(outcome, { maxLength: 2 })
const since = fc.constantFrom('1h', '2026-01-31')
const all = { caller: word, tool: word, outcome: outcomes, since, request: word, trace: word }
const flags: fc.Arbitrary<FilterFlags> = fc.oneof(
  fc.record(all, { requiredKeys: [] }),
  // One by itself lets more through.
  fc
    .oneof(
      word,
      fc.tuple(word, word).map((parts) => parts.join('/')),
    )
    .map((caller) => ({ caller })),
  ...(['tool', 'request', 'trace'] as const).map((name) => word.map((text) => ({ [name]: text }))),
  outcomes.map((outcome) => ({ outcome })),
)

test('of any lines, exactly the matching ones are passed on unchanged', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30, size: 'max' }), flags, (lines, asked) => {
      const read = filterOf(asked, Date.parse('2026-01-31T12:00:00Z'))
      assert.ok('filter' in read)
      const taken: string[] = []
      const selection = new Selection(read.filter, ({ text }) => taken.push(text))
      for (const each of lines) selection.line(each)

      const matching = lines.filter((each) => {
        const found = auditLineOf(each)
        return found !== undefined && read.filter(found.event)
      })
      assert.deepEqual(
        taken.map((text) => Buffer.from(text)),
        matching,
      )
      assert.ok(selection.malformed + taken.length <= lines.length)
    }),
    { numRuns: 1_000 },
  )
})

test('the output for any lines sends no commands to a terminal', () => {
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      for (const each of lines) {
        const found = auditLineOf(each)
        if (found === undefined) continue
        const shown = eventText(found.event, plain)
        assert.doesNotMatch(shown, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u)
        const forTerminal = jsonText(found.text, true)
        assert.doesNotMatch(forTerminal, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u)
        assert.deepEqual(JSON.parse(forTerminal), JSON.parse(found.text))
      }
    }),
    { numRuns: 1_500 },
  )
})

test('a very long name is cut', () => {
  const name = `${'x'.repeat(5_000)}😀`
  const found = auditLineOf(
    Buffer.from(
      JSON.stringify({
        at: '2026-01-31',
        kind: 'called',
        requestId: name,
        method: 'POST',
        route: name,
        subject: name,
      }),
    ),
  )
  assert.ok(found !== undefined)
  assert.ok(eventText(found.event, plain).length < 1_000)
})

test('the last lines of any number of lines are kept', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.nat(1_000), (count, added) => {
      const last = new LastLines(count)
      const all = Array.from({ length: added }, (_, index) => ({ text: String(index) }))
      for (const { text } of all)
        last.add({ text, event: { at: '', kind: 'called', requestId: text, method: '', route: '' } })

      assert.deepEqual(
        last.lines().map(({ text }) => text),
        all.map(({ text }) => text).slice(added - Math.min(count, added)),
      )
      assert.equal(last.full, added >= count)
    }),
  )
})
