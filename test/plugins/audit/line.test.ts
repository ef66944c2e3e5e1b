import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AuditEvent } from 'sallyport'
import { runs } from '#kit/runs.js'
import { lineOf } from '#plugins/audit/line.js'

const FIELDS =
  'at kind requestId traceId provider subject actors address method route status mcp outcome policy causes durationMs more addresses server'

test('a line has the fields of an event in their order, and no others', () => {
  const event: AuditEvent = {
    scopes: ['not in the line'],
    server: { registry: 'own', name: 'a/b', action: 'publish', after: { status: 'active' } },
    durationMs: 1.5,
    more: 7,
    addresses: 3,
    causes: ['tool_error'],
    policy: 'rule',
    outcome: 'failed',
    mcp: { protocolVersion: '2025-11-25', name: 'search', kind: 'tool', method: 'tools/call' },
    status: 200,
    route: '/mcp',
    method: 'POST',
    address: '::1',
    actors: ['agent'],
    subject: 'ada',
    provider: 'corp',
    traceId: '0af7651916cd43dd8448eb211c80319c',
    requestId: '1',
    kind: 'called',
    at: '2030-01-01T00:00:00.000Z',
  }
  const read = JSON.parse(lineOf(event))
  assert.equal(Object.keys(read).join(' '), FIELDS)
  assert.equal(Object.keys(read.mcp).join(' '), 'method kind name protocolVersion')
  const { scopes, ...rest } = event
  assert.deepEqual(read, rest)
})

test('missing fields are left out', () => {
  const event = { kind: 'accepted', at: 'now', requestId: '1', method: 'GET', route: '/' } as const
  assert.equal(lineOf(event), '{"at":"now","kind":"accepted","requestId":"1","method":"GET","route":"/"}\n')
})

const anything = fc.oneof(
  fc.string({ unit: 'binary' }),
  // Each of these ends a line, or is an error, for some reader.
  fc.string({
    unit: fc.constantFrom('\n', '\r', '\u0085', '\u2028', '\u2029', '\u009b', '\\', 'u', 'd', '8', '0', '"'),
  }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 50 })
    .map((units) => String.fromCharCode(...units)),
  fc.constant('x'.repeat(1_000_000)),
)

test('any event is one line that every reader reads alike', () => {
  fc.assert(
    fc.property(anything, anything, anything, (subject, name, cause) => {
      const mcp = { method: 'tools/call', kind: 'tool', name } as const
      const line = lineOf({
        kind: 'called',
        at: '',
        requestId: '',
        method: '',
        route: '',
        subject,
        mcp,
        causes: [cause],
      })
      const text = line.slice(0, -1)
      assert.equal(line.at(-1), '\n')
      assert.match(text, /^[\x20-\x7e]*$/)
      const read = JSON.parse(text)
      assert.equal(read.subject, subject.toWellFormed())
      assert.equal(read.mcp.name, name.toWellFormed())
      assert.deepEqual(read.causes, [cause.toWellFormed()])
    }),
    { numRuns: runs(500) },
  )
})
