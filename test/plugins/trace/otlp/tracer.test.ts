import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { McpMessage, TraceContext } from 'sallyport'
import { collector, END, messageOf, startedAt, toolCall, tracing } from '../collector.js'

const parentOf = (digit: string, flags = '01'): string =>
  `00-${digit.repeat(32)}-${digit.repeat(16)}-${flags}`
const callOf = (trace: TraceContext) => ({ ...toolCall, trace })
const idOf = (traceparent: string): string => traceparent.slice(3, 35)

test('the context in _meta is the parent, and that of the header a link', async (t) => {
  const { url, spans } = await collector(t)
  const { tracer, requestWith, stop } = await tracing(t, { url, intoMeta: true })
  const request = await requestWith({ traceparent: parentOf('a'), tracestate: 'a=1' })
  const message = messageOf(callOf({ traceparent: parentOf('b', '03'), tracestate: 'b=2' }))
  const trace = tracer.start({ request, message, startedAt })
  const { headers } = trace
  trace.end?.(END)
  await stop()

  assert.equal(trace.intoMeta, true)
  assert.equal(trace.traceId, 'b'.repeat(32))
  assert.match(headers[0]?.[1] ?? '', /^00-b{32}-[\da-f]{16}-03$/)
  assert.notEqual(headers[0]?.[1].split('-')[2], 'b'.repeat(16))
  assert.deepEqual(headers[1], ['tracestate', 'b=2'])
  const [server] = spans()
  assert.equal(server?.parentSpanId, 'b'.repeat(16))
  assert.equal(server?.traceState, 'b=2')
  assert.deepEqual(
    server?.links.map(({ traceId, spanId }) => [traceId, spanId]),
    [['a'.repeat(32), 'a'.repeat(16)]],
  )
})

test('a context in _meta that is known only at the end is a link', async (t) => {
  const { url, spans } = await collector(t)
  const { tracer, requestWith, stop } = await tracing(t, { url })
  const request = await requestWith({ traceparent: parentOf('a') })
  let message: McpMessage | undefined
  const trace = tracer.start({
    request,
    startedAt,
    get message() {
      return message
    },
  })
  message = messageOf(callOf({ traceparent: parentOf('b') }))
  trace.end?.(END)
  await stop()
  const [server] = spans()
  assert.equal(server?.parentSpanId, 'a'.repeat(16))
  assert.deepEqual(
    server?.links.map(({ spanId }) => spanId),
    ['b'.repeat(16)],
  )
})

test('an invalid context is ignored and never sent on', async (t) => {
  const { url, spans } = await collector(t)
  const { tracer, requestWith, stop } = await tracing(t, { url })
  const bad = { traceparent: parentOf('c').toUpperCase(), tracestate: 'c=3' }
  const withHeader = await requestWith({ traceparent: parentOf('a'), tracestate: 'a=1' })
  const fromHeader = tracer.start({ request: withHeader, message: messageOf(callOf(bad)), startedAt })
  assert.equal(fromHeader.traceId, 'a'.repeat(32))
  assert.deepEqual(fromHeader.headers[1], ['tracestate', 'a=1'])

  const own = tracer.start({ request: await requestWith(bad), message: undefined, startedAt })
  assert.doesNotMatch(JSON.stringify(own.headers), /c{16}|c=3|tracestate/i)
  const alone = tracer.start({
    request: await requestWith({ tracestate: 'a=1' }),
    message: undefined,
    startedAt,
  })
  assert.equal(alone.headers.length, 1)
  for (const trace of [fromHeader, own, alone]) trace.end?.(END)
  await stop()
  assert.deepEqual(
    spans().map(({ links }) => links),
    [[], [], []],
  )
})

test('the contexts of a batch are links, each once, up to a limit', async (t) => {
  const { url, spans } = await collector(t)
  const { tracer, requestWith, stop } = await tracing(t, { url })
  const calls = Array.from({ length: 100 }, (_, at) => {
    const digits = (at % 50).toString(16).padStart(2, '0')
    return callOf({ traceparent: `00-${digits.repeat(15)}ff-${digits.repeat(7)}ff-01` })
  })
  tracer.start({ request: await requestWith(), message: messageOf(...calls), startedAt }).end?.(END)
  const [first, second] = calls
  assert.ok(first && second)
  const few = messageOf(first, second, first, toolCall)
  tracer.start({ request: await requestWith(), message: few, startedAt }).end?.(END)
  await stop()
  assert.deepEqual(
    spans().map(({ links }) => links.length),
    [32, 1],
  )
})

test('a caller with a parent decides about sampling, and no other caller does', async (t) => {
  const { url, spans } = await collector(t)
  for (const sample of [0, 1]) {
    const { tracer, requestWith, stop } = await tracing(t, { url, sample })
    const before = spans().length
    for (const [flags, sampled] of [
      ['00', false],
      ['01', true],
      ['02', false],
      ['ff', true],
    ] as const) {
      const request = await requestWith({ traceparent: parentOf('a', flags), tracestate: 'a=1' })
      const trace = tracer.start({ request, message: undefined, startedAt })
      assert.equal(trace.sampled, sampled)
      assert.equal(trace.traceId, 'a'.repeat(32))
      const [[, sent] = ['', ''], state] = trace.headers
      assert.match(sent, sampled ? /-0[13]$/ : /-0[02]$/)
      if (!sampled) assert.equal(sent, parentOf('a', flags))
      assert.deepEqual(state, ['tracestate', 'a=1'])
      trace.part?.({ name: 'target', startedAt, endedAt: startedAt })
      trace.end?.(END)
    }
    const own = tracer.start({ request: await requestWith(), message: undefined, startedAt })
    assert.equal(own.sampled, sample === 1)
    assert.match(own.headers[0]?.[1] ?? '', sample === 1 ? /-01$/ : /-00$/)
    own.end?.(END)
    await stop()
    assert.equal(spans().length - before, 4 + sample)
  }
})

test('with `followParent: false` every request begins a trace, whatever its caller says', async (t) => {
  const { url, spans } = await collector(t)
  const { tracer, requestWith, stop } = await tracing(t, { url, sample: 0, followParent: false })
  const request = await requestWith({ traceparent: parentOf('a'), tracestate: 'a=1' })
  const message = messageOf(callOf({ traceparent: parentOf('b') }))
  const unsampled = tracer.start({ request, message, startedAt })
  assert.equal(unsampled.sampled, false)
  assert.doesNotMatch(JSON.stringify(unsampled.headers), /a{16}|b{16}|tracestate/)
  unsampled.end?.(END)
  await stop()
  assert.equal(spans().length, 0)

  const all = await tracing(t, { url, sample: 1, followParent: false })
  const trace = all.tracer.start({ request, message, startedAt })
  assert.doesNotMatch(JSON.stringify(trace.headers), /a{16}|b{16}|tracestate/)
  trace.end?.(END)
  await all.stop()
  const [server] = spans()
  assert.equal(server?.parentSpanId, undefined)
  assert.deepEqual(
    server?.links.map(({ traceId }) => traceId),
    [idOf(parentOf('b')), idOf(parentOf('a'))],
  )
})

test('the share `sample` of the traces that begin here is exported', async (t) => {
  const { url } = await collector(t)
  const draws = 100_000
  for (const sample of [0.05, 0.5]) {
    const { tracer, requestWith, stop } = await tracing(t, { url, sample })
    const request = await requestWith()
    const ids = new Set<string>()
    let sampled = 0
    for (let draw = 0; draw < draws; draw++) {
      const trace = tracer.start({ request, message: undefined, startedAt })
      ids.add(trace.traceId)
      if (trace.sampled) sampled++
    }
    // Eight standard deviations: by luck alone this fails once in 10^15 runs.
    const bound = 8 * Math.sqrt(draws * sample * (1 - sample))
    assert.ok(Math.abs(sampled - draws * sample) < bound, `${sampled} of ${draws}`)
    assert.equal(ids.size, draws)
    await stop()
  }
})
