import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { EndpointRewriter } from '#plugins/forward/endpoint-rewriter.js'

// URLs lose their line breaks.
const replaced = (data: string): string => `/proxy${data.replaceAll('\n', '')}`

function passed(stream: Buffer, sizes: readonly number[] = [stream.length]): Buffer {
  const rewriter = new EndpointRewriter(replaced)
  const out: Buffer[] = []
  let start = 0
  for (let turn = 0; start < stream.length; turn++) {
    const end = start + (sizes[turn % sizes.length] ?? 1)
    out.push(rewriter.rewrite(stream.subarray(start, end)))
    start = end
  }
  return Buffer.concat([...out, rewriter.end()])
}

interface Part {
  readonly sent: string
  readonly expected: string
}

const same = (sent: string): Part => ({ sent, expected: sent })
const ending = fc.constantFrom('\n', '\r\n', '\r')
const value = fc.stringMatching(/^[ -~é]{0,12}$/)
const path = fc.stringMatching(/^\/[a-zé?=:]{0,12}$/)

const comment = fc.tuple(value, ending).map(([text, end]) => same(`:${text}${end}${end}`))
const otherEvent = fc
  .tuple(
    fc.constantFrom('message', 'endpoints', 'Endpoint', 'endpoint ', ''),
    fc.array(fc.tuple(fc.constantFrom('data', 'id', 'retry', ':', 'endpoint'), value), { maxLength: 4 }),
    ending,
  )
  .map(([name, fields, end]) =>
    same(`event: ${name}${end}${fields.map(([field, text]) => `${field}:${text}${end}`).join('')}${end}`),
  )
const endpointEvent = fc
  .tuple(
    path,
    fc.constantFrom('', ' '),
    fc.boolean(),
    fc.constantFrom('', 'id: 7', ': note', 'event: x'),
    ending,
  )
  .map(([announced, space, nameFirst, other, end]) => {
    const eventWith = (data: string): string => {
      const name = `event:${space}endpoint${end}`
      const line = `data:${space}${data}${end}`
      const more = other === '' ? '' : other + end
      // The last name counts.
      return other === 'event: x' || !nameFirst ? more + line + name + end : name + more + line + end
    }
    return { sent: eventWith(announced), expected: eventWith(replaced(announced)) }
  })

test('only the data of endpoint events changes, wherever the stream is cut', () => {
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.array(fc.oneof(comment, otherEvent, endpointEvent), { maxLength: 8 }),
      fc.constantFrom('', 'data: cut off', 'event: endpoint\ndata: /cut'),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 }),
      (mark, parts, rest, sizes) => {
        const text = (side: keyof Part): Buffer =>
          Buffer.from(`${mark ? '\ufeff' : ''}${parts.map((part) => part[side]).join('')}${rest}`)

        assert.equal(passed(text('sent'), sizes).toString(), text('expected').toString())
      },
    ),
    { numRuns: runs(2000) },
  )
})

test('bytes that are no text pass unchanged, also beside an endpoint', () => {
  const noise = Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xfe, 0x00, 0x0a, 0x0a])
  const event = (data: string): Buffer => Buffer.from(`id: \u0000\nevent: endpoint\ndata: ${data}\n\n`)

  assert.deepEqual(
    passed(Buffer.concat([noise, event('/a'), noise]), [3]),
    Buffer.concat([noise, event('/proxy/a'), noise]),
  )
})

test('an event passes once it is complete, a comment with its line, and at most 16 KiB are held back', () => {
  const rewriter = new EndpointRewriter(replaced)
  const after = (text: string): string => rewriter.rewrite(Buffer.from(text)).toString()

  assert.equal(after(': pad'), '')
  assert.equal(after('ding\n\ndata: 1'), ': padding\n\n')
  assert.equal(after('\r\n\r'), 'data: 1\r\n\r')
  assert.equal(after('\n'), '\n')
  const long = `data: ${'x'.repeat(16 * 1024)}`
  assert.equal(after(long), long)
  assert.equal(after('more'), 'more')
  assert.equal(
    after('\nevent: endpoint\n\nevent: endpoint\ndata: /a\n\n'),
    '\nevent: endpoint\n\nevent: endpoint\ndata: /proxy/a\n\n',
  )
})

test('data of several lines becomes one, and the event still ends, also after line endings of two kinds', () => {
  const several = Buffer.from('event: endpoint\ndata: /a\ndata: b\nid: 1\n\n')
  const mixed = Buffer.from('event: endpoint\rdata: /a\rdata: b\n\n')
  const bare = Buffer.from('event: endpoint\ndata\ndata: /a\n\n')

  assert.equal(passed(several).toString(), 'event: endpoint\ndata: /proxy/ab\nid: 1\n\n')
  assert.equal(passed(mixed).toString(), 'event: endpoint\rdata: /proxy/ab\n\n')
  assert.equal(passed(bare).toString(), 'event: endpoint\ndata: /proxy/a\n\n')
})
