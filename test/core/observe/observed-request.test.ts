import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { AuditSink, Authenticator, definePlugin, type Entry, Tracer } from 'sallyport'
import { observationOf, timed } from 'sallyport/toolkit'
import { booted, recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { mcpPlugin, plugin, providing } from '#kit/plugin.js'
import { HOUR, twoClocks } from '#kit/two-clocks.js'
import { asAnn, known, observing, TRACE_ID, taking } from './observing.js'

const PARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`

const call = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'add', _meta: { traceparent: PARENT, tracestate: 'a=1', other: 1 } },
}

async function traced(t: TestContext, more: readonly Entry[] = []) {
  const { observed, entry } = observing('trace')
  return { app: await booted(t, [entry, ...more, taking]), ...observed }
}

test('a request has one trace, with its calls and the trace context of its `_meta`', async (t) => {
  const { app, traces } = await traced(t, [known()])
  const before = Date.now()
  await app.inject({ method: 'POST', url: '/mcp', headers: asAnn, payload: call })
  const [trace, ...others] = traces
  assert.deepEqual(others, [])
  assert.deepEqual(trace?.beginning.message?.calls[0]?.trace, { traceparent: PARENT, tracestate: 'a=1' })
  assert.ok(trace?.end)
  const { startedAt } = trace.beginning
  assert.ok(startedAt >= before - 1)
  const { endedAt, ...end } = trace.end
  assert.ok(endedAt >= startedAt)
  assert.deepEqual(end, { status: 202, outcome: 'allowed', causes: [] })
})

test('a trace has the time of day, and its duration does not change when the clock is set meanwhile', async (t) => {
  const clock = twoClocks(t)
  const setting = plugin('setting', ({ http }) => {
    http.get('/set', () => {
      clock.set(2 * HOUR)
      return 'set'
    })
  })
  const { app, traces } = await traced(t, [known(), setting])
  clock.set(HOUR)
  const before = Date.now()
  await app.inject({ url: '/set', headers: asAnn })
  const { startedAt } = traces[0]?.beginning ?? assert.fail('no trace')
  assert.ok(startedAt > before - 1 && startedAt < before + HOUR / 2)
  assert.ok((traces[0]?.end?.endedAt ?? 0) < startedAt + HOUR / 2)
})

test('the message is parsed for a tracer that reads it at the start, and otherwise not', async (t) => {
  const untraced = { ...call, params: { name: 'add' } }
  for (const payload of [call, untraced]) {
    for (const isAsking of [true, false]) {
      const seen: unknown[] = []
      const tracer: Tracer = {
        start(beginning) {
          seen.push(beginning.withoutContext)
          if (isAsking) seen.push(beginning.message?.calls[0]?.method)
          return {
            traceId: TRACE_ID,
            sampled: false,
            headers: [],
            part() {},
            end: () => void seen.push(beginning.message?.calls[0]?.method),
          }
        },
      }
      const unsampled = providing('unsampled', Tracer, tracer)
      const app = await booted(t, [unsampled, known(), taking])
      await app.inject({ method: 'POST', url: '/mcp', headers: asAnn, payload })
      const read = isAsking ? ['tools/call', 'tools/call'] : [undefined]
      assert.deepEqual(seen, [payload === untraced, ...read])
    }
  }
})

test('a refused request, and one without a call, are traced too', async (t) => {
  const { app, traces } = await traced(t, [known()])
  await app.inject({ method: 'POST', url: '/mcp', payload: call })
  await app.inject({ url: '/plain', headers: asAnn })
  assert.deepEqual(
    traces.map(({ beginning, end }) => [beginning.message, end?.status, end?.outcome, end?.causes]),
    [
      [undefined, 401, 'denied', ['none']],
      [undefined, 200, 'allowed', []],
    ],
  )
})

const parts = (slow: () => Promise<void>): Entry => ({
  use: definePlugin({
    name: 'parts',
    api: 1,
    provides: [Authenticator],
    setup(gateway) {
      gateway.provide(Authenticator, {
        provider: 'slow',
        async authenticate() {
          await slow()
          return { identity: { provider: 'slow', subject: 'ann', claims: {} } }
        },
      })
      gateway.http.get('/parts', async (request, reply) => {
        assert.equal(
          timed(request, 'exchange', () => 'at once'),
          'at once',
        )
        await timed(request, 'exchange', slow)
        const observed = observationOf(request)
        assert.equal(observed?.traceHeaders[0]?.[0], 'traceparent')
        observed?.sent()
        await assert.rejects(
          timed(request, 'login', () => slow().then(() => Promise.reject(new Error('SECRET')))),
        )
        assert.throws(() => timed(request, 'login', () => assert.fail('SECRET')))
        observed?.targetEnded('target_timeout')
        return reply.send('done')
      })
    },
  }),
})

test('a step that takes time is a part of the trace, before and after its start, also if the step fails', async (t) => {
  const { app, traces } = await traced(t, [parts(() => pause(2))])
  assert.equal((await app.inject('/parts')).body, 'done')
  const [trace] = traces
  assert.deepEqual(
    // One more exchange does not wait, and is a part only where the machine was busy for a while.
    trace?.parts
      .filter(({ name }, index, all) => name !== all[index - 1]?.name || name !== 'exchange')
      .map(({ name, failure }) => [name, failure]),
    [
      ['verification', undefined],
      ['exchange', undefined],
      ['login', 'error'],
      ['login', 'error'],
      ['target', 'target_timeout'],
    ],
  )
  for (const { startedAt, endedAt } of trace?.parts ?? []) assert.ok(endedAt >= startedAt)
})

test('the part of the target is no failure if its request is allowed, whatever was not read', async (t) => {
  const sent = mcpPlugin(
    'sent',
    ({ http }) =>
      void http.post('/sent', { config: { mcp: true } }, (request) => {
        const observed = observationOf(request)
        observed?.sent()
        observed?.bodyRead(undefined)
        return 'answered'
      }),
  )
  const { app, traces } = await traced(t, [known(), sent])
  await app.inject({ method: 'POST', url: '/sent', headers: asAnn, payload: call })
  const [trace] = traces
  assert.deepEqual([trace?.end?.outcome, trace?.end?.causes], ['allowed', ['body_not_read']])
  const parts = trace?.parts.filter(({ name }) => name === 'target')
  assert.deepEqual(
    parts?.map(({ failure }) => failure),
    [undefined],
  )
})

test('an open part ends with its request, and the tracer gets no part after that', async (t) => {
  const { promise: held, resolve: release } = deferred()
  const open = plugin(
    'open',
    ({ http }) =>
      void http.get('/open', (request) => {
        void timed(request, 'exchange', () => held)
        return 'answered'
      }),
  )
  const { app, traces } = await traced(t, [known(), open])
  await app.inject({ url: '/open', headers: asAnn })
  release()
  await held
  // On a busy machine a verification may be long enough to be a part too.
  const exchanges = traces[0]?.parts.filter(({ name }) => name === 'exchange')
  assert.deepEqual(
    exchanges?.map(({ failure }) => failure),
    ['aborted'],
  )
})

test('observers that throw change no response, and the other observers get the request', async (t) => {
  const thrower = (): never => {
    throw new Error('no')
  }
  const failing = definePlugin({
    name: 'failing',
    api: 1,
    provides: [AuditSink, Tracer],
    setup(gateway) {
      gateway.provide(AuditSink, thrower)
      gateway.provide(Tracer, { start: thrower })
      gateway.provide(Tracer, {
        start: () => ({ traceId: TRACE_ID, sampled: false, headers: [], part: thrower, end: thrower }),
      })
    },
  })
  const { observed, entry } = observing('audit', 'trace', 'measure')
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: failing }, entry, known(), taking], { log })
  const { statusCode } = await app.inject({ method: 'POST', url: '/mcp', headers: asAnn, payload: call })
  assert.equal(statusCode, 202)
  assert.equal(observed.events[0]?.traceId, TRACE_ID)
  assert.equal(observed.traces.length, 1)
  assert.ok(lines.some(({ msg }) => msg === 'a tracer failed'))
  assert.ok(lines.some(({ msg }) => msg === 'an audit sink failed'))
})

test('without a tracer an event has the id of the caller’s own trace, if it is one', async (t) => {
  const { observed, entry } = observing('audit')
  const app = await booted(t, [entry, known(), taking])
  for (const traceparent of [PARENT, `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, 'SECRET'])
    await app.inject({ url: '/plain', headers: { ...asAnn, traceparent } })
  assert.deepEqual(
    observed.events.map(({ traceId }) => traceId),
    [TRACE_ID, undefined, undefined],
  )
})

test('a request without observers has no record', async (t) => {
  let seen: unknown = 'nothing'
  const looking = plugin(
    'looking',
    ({ http }) =>
      void http.get('/', { config: { public: true } }, (request) => {
        seen = observationOf(request)
        return timed(request, 'part', () => 'run')
      }),
  )
  const app = await booted(t, [looking])
  assert.equal((await app.inject('/')).body, 'run')
  assert.equal(seen, undefined)
})

for (const sampled of [true, false]) {
  for (const others of [[], ['audit', 'measure']] as const) {
    test(`a trace ends once: sampled ${sampled}, beside ${others.length} other observers`, async (t) => {
      let ends = 0
      const tracer = { start: () => ({ traceId: TRACE_ID, sampled, headers: [], end: () => void ends++ }) }
      const tracing = providing('tracing', Tracer, tracer as never)
      const app = await booted(t, [tracing, observing(...others).entry, known(), taking])
      await app.inject({ url: '/plain', headers: asAnn })
      await eventually(() => ends > 0)
      // The longest time that a batch waits.
      await pause(60)
      assert.equal(ends, 1)
    })
  }
}
