import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Policy, PolicyCaller } from 'sallyport'
import { FilteredEvents } from '#core/mcp/filtered-events.js'
import { UnreadResponse } from '#core/mcp/held-responses.js'
import { ListFilter } from '#core/mcp/list-filter.js'
import type { ResponseSink } from '#core/mcp/response.js'
import { runs } from '#kit/runs.js'
import { EndpointRewriter } from '#plugins/forward/endpoint-rewriter.js'
import { hiding } from '../../plugins/forward/hiding.js'

const CALLER = { identity: undefined, request: {} } as PolicyCaller
const HEAD = { status: 200, reason: 'OK', headers: ['Content-Type', 'text/event-stream'] }

function deferred<T>() {
  let resolve: (value: T) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<T>((resolvePromise, rejectPromise) => {
    resolve = resolvePromise
    reject = rejectPromise
  })
  return { promise, resolve, reject }
}

/** A stream and its output; `waits` is resolved when the target may go on. */
function opened(shows: Policy['shows'] = hiding.shows, reads = true) {
  const out: Buffer[] = []
  const lists = new ListFilter([{ ...hiding, shows }], 0)
  const ended = deferred<string>()
  let goOn: () => void = () => {}
  const sink: ResponseSink = {
    begin: () => {},
    data: (chunk) => out.push(Buffer.from(chunk)) > 0 && reads,
    end: () => {
      ended.resolve(Buffer.concat(out).toString('latin1'))
      return true
    },
    discard: () => {},
  }
  const fail = (error: unknown): void => {
    events.discard()
    ended.reject(error)
  }
  const events = new FilteredEvents(sink, lists, CALLER, fail, () => undefined)
  events.begin(HEAD, { resume: () => goOn(), abort: () => {} })
  const write = async (chunk: Buffer): Promise<void> => {
    const resumed = new Promise<void>((resolve) => {
      goOn = resolve
    })
    if (!events.data(chunk)) await Promise.race([resumed, ended.promise])
  }
  return { events, write, out, ended: ended.promise, held: lists.budget }
}

async function passed(stream: Buffer, sizes: readonly number[], shows?: Policy['shows']): Promise<string> {
  const { events, write, ended } = opened(shows)
  ended.catch(() => {})
  for (let start = 0, turn = 0; start < stream.length; turn++) {
    const end = start + (sizes[turn % sizes.length] ?? 1)
    await write(stream.subarray(start, end))
    start = end
  }
  events.end([])
  return Buffer.from(await ended, 'latin1').toString()
}

interface Part {
  readonly sent: string
  readonly expected: string
}
const same = (sent: string): Part => ({ sent, expected: sent })

const A = '{"name":"a","title":"é😀"}'
const X = '{"name":"x"}'
const list = (items: string, mark = ''): string => `{"result":${mark}{"tools":[${items}]}}`

const ending = fc.constantFrom('\n', '\r\n', '\r')
const line = fc.constantFrom('id: 7', 'event: message', 'retry: 1', ': note {', 'datum: {', 'data-x: [', 'x')
const text = fc.constantFrom('hello', '{"method":"a"}', '', 'é😀', '[]', list(A), '/messages?id=1', '"{"')
const otherPart = fc
  .tuple(fc.array(line), text, fc.array(line), fc.constantFrom('data:', 'data: '), ending)
  .map(([before, data, after, name, end]) => same([...before, name + data, ...after, '', ''].join(end)))
const comment = fc.tuple(text, ending).map(([said, end]) => same(`:${said}${end}${end}`))
const bare = fc.tuple(line, ending).map(([only, end]) => same(`${only}${end}data${end}${end}`))
const listPart = fc
  .tuple(fc.array(line), fc.array(line), fc.constantFrom('data:', 'data: '), ending, fc.boolean())
  .map(([before, after, name, end, several]) => {
    const mark = several ? `${end}data: ` : ''
    const event = (items: string, more: readonly string[]): string =>
      [...before, name + list(items, mark), ...more, '', ''].join(end)
    return { sent: event(`${A},${X}`, after), expected: event(A, after) }
  })
const rest = fc.constantFrom(same(''), same('data: cut'), same(': ping'), {
  sent: `data: ${list(X)}`,
  expected: `data: ${list('')}`,
})

test('only events that hold a list change, wherever the stream is cut, and whenever the policy answers', async () => {
  const run = fc.asyncProperty(
    fc.boolean(),
    fc.array(fc.oneof(otherPart, comment, bare, listPart), { maxLength: 8 }),
    rest,
    fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 9 }),
    fc.boolean(),
    async (mark, parts, last, sizes, later) => {
      const whole = (side: keyof Part): string =>
        `${mark ? '\ufeff' : ''}${[...parts, last].map((part) => part[side]).join('')}`
      const shows: Policy['shows'] = later
        ? async (...about) => {
            await new Promise(setImmediate)
            return hiding.shows(...about)
          }
        : hiding.shows

      assert.equal(await passed(Buffer.from(whole('sent')), sizes, shows), whole('expected'))
    },
  )
  await fc.assert(run, { numRuns: runs(1500) })
})

test('a stream is filtered alike, wherever its chunks are split', async () => {
  const stream = (items: string): Buffer =>
    Buffer.from(
      `\ufeffdata: ${list(items)}\r\n\r\n: é\r\n\r\nid: 1\rdata: ${list(items)}\r\rdata: [\ndata: ]\n\n`,
    )
  const sent = stream(`${A},${X}`)
  for (let at = 1; at < sent.length; at++) {
    assert.equal(await passed(sent, [at, sent.length]), String(stream(A)), `${at}`)
  }
})

test('data in several lines stays in several lines, around the other fields', async () => {
  const event = (items: string): string =>
    `data: {"result":\nid: 3\ndata:{"tools":[${items}]\nretry: 5\ndata\ndata: }}\n\n`

  const changed = `data: {"result":\ndata: {"tools":[${A}]\ndata: \ndata: }}\nid: 3\nretry: 5\n\n`
  assert.equal(await passed(Buffer.from(event(`${X},${A}`)), [7]), changed)
  assert.equal(await passed(Buffer.from(event(A)), [7]), event(A))
})

test('a changed event ends with its own line breaks, whichever each of its lines has', async () => {
  const [begin, more, changed] = ['data: {"result":', `data: {"tools":[${X}]}}`, 'data: {"tools":[]}}']
  for (const [sent, expected] of [
    [`${begin}\r${more}\n\n`, `${begin}\r${changed}\n\n`],
    [`${begin}\r${more}\r\n\r\n`, `${begin}\r${changed}\r\n\r\n`],
    [`${begin}\nid: 1\r${more}\n\n`, `${begin}\n${changed}\nid: 1\n\n`],
    [`${begin}\n${more}\r\r`, `${begin}\n${changed}\r\r`],
  ] as const) {
    assert.equal(await passed(Buffer.from(sent), [9]), expected, JSON.stringify(sent))
  }
})

test('a complete event and a comment are passed on at once, and count no more', async () => {
  const { write, out, held } = opened()
  const after = async (chunk: string): Promise<string> => {
    out.length = 0
    await write(Buffer.from(chunk))
    return Buffer.concat(out).toString()
  }

  assert.equal(await after(': ping\n'), ': ping\n')
  assert.equal(await after('\ndata: 1\n'), '\n')
  assert.equal(await after('\r'), 'data: 1\n\r')
  assert.equal(await after('\n'), '\n')
  assert.equal(await after(`data: ${list(X)}`), '')
  // These bytes take room from the 64 MiB of all responses.
  assert.equal(held.reserve(64 * 1024 ** 2), false)
  assert.equal(await after('\n\n'), `data: ${list('')}\n\n`)
  assert.equal(held.reserve(64 * 1024 ** 2), true)
})

test('the beginning of an event does not count while the caller does not read', () => {
  const { events, held } = opened(hiding.shows, false)

  assert.equal(events.data(Buffer.from('data: 1\n\ndata: {')), false)
  assert.equal(held.reserve(64 * 1024 ** 2), true)
  held.free(64 * 1024 ** 2)
  events.data(Buffer.from('"a":'))
  assert.equal(held.reserve(64 * 1024 ** 2), false)
  events.discard()
  assert.equal(held.reserve(64 * 1024 ** 2), true)
})

test('data that is not JSON, and JSON outside of an event, end the stream', async () => {
  for (const stream of [
    ...[
      'data: {"result":{"tools":[{"name":"x"}]},}\n\n',
      'data: [\n\n',
      `${list(X)}\n\n`,
      `\ufeff ${list(X)}`,
    ],
    `data: 1\n\n{\n"result":{}}\n\n`,
  ]) {
    await assert.rejects(passed(Buffer.from(stream), [stream.length]), { code: 'RESPONSE_MALFORMED' }, stream)
  }
})

test('the events before a malformed one are passed on, also from the same chunk', async () => {
  for (const rest of ['data: [\n\n', 'data: [']) {
    const { events, ended, out } = opened()
    events.data(Buffer.from(`data: 1\n\n${rest}`))
    events.end([])

    await assert.rejects(ended, { code: 'RESPONSE_MALFORMED' })
    assert.equal(Buffer.concat(out).toString(), 'data: 1\n\n')
  }
})

test('a failure while a policy decides about another event leaves no promise unhandled', async (t) => {
  const lost: unknown[] = []
  const note = (error: unknown): void => void lost.push(error)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  const asked: ReturnType<typeof deferred<boolean[]>>[] = []
  const { events, write, ended, out } = opened(() => {
    const answer = deferred<boolean[]>()
    asked.push(answer)
    return answer.promise
  })

  void write(Buffer.from(`data: 1\n\ndata: ${list(X)}\n\ndata: [\n\ndata: ${list(X)}\n\n`)).catch(() => {})
  while (asked.length === 0) await new Promise(setImmediate)
  asked[0]?.resolve([false])
  await assert.rejects(ended, { code: 'RESPONSE_MALFORMED' })
  events.data(Buffer.from(`data: ${list(X)}\n\n`))
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)

  assert.equal(asked.length, 1)
  assert.equal(Buffer.concat(out).toString(), `data: 1\n\ndata: ${list('')}\n\n`)
  assert.deepEqual(lost, [])
})

test('an error answer without room is left out, and the first failure is reported', async () => {
  const lists = new ListFilter([{ ...hiding, shows: () => Promise.reject(new Error('broken')) }], 0)
  const failed = deferred<unknown>()
  const unread: ResponseSink = { begin: () => {}, data: () => false, end: () => true, discard: () => {} }
  const to = new UnreadResponse(unread, lists.budget, 60_000, failed.resolve)
  const events = new FilteredEvents(to, lists, CALLER, failed.resolve, () => Buffer.from('data: failed\n\n'))
  events.begin(HEAD, { resume: () => {}, abort: () => {} })
  events.data(Buffer.from(`data: ${'y'.repeat(100_000)}\n\ndata: ${list(X)}\n\n`))
  let others = 0
  for (let bytes = 64 * 1024 ** 2; bytes >= 1; bytes /= 2) if (lists.budget.reserve(bytes)) others += bytes

  assert.equal(Object(await failed.promise).code, 'POLICY_UNAVAILABLE')
  lists.budget.free(others)
  events.discard()
  assert.equal(lists.budget.reserve(64 * 1024 ** 2), true)
})

test('an announced endpoint is rewritten in a stream whose lists are filtered', async () => {
  const rewriter = new EndpointRewriter((data) => `/proxy${data}`)
  const sent = Buffer.from(`event: endpoint\ndata: /a\n\ndata: ${list(X)}\n\n`)
  for (let at = 1; at < sent.length; at++) {
    const chunks = [sent.subarray(0, at), sent.subarray(at)].map((chunk) => rewriter.rewrite(chunk))

    assert.equal(
      await passed(Buffer.concat(chunks), [at]),
      `event: endpoint\ndata: /proxy/a\n\ndata: ${list('')}\n\n`,
    )
  }
})
