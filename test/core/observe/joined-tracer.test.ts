import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Trace, type TraceEnd, Tracer } from 'sallyport'
import { joinedTracer } from '#core/observe/joined-tracer.js'
import { booted, recordedLog } from '#kit/booted.js'
import { providing } from '#kit/plugin.js'
import { asAnn, known, observing, TRACE_ID, taking } from './observing.js'

const END: TraceEnd = { endedAt: 2, status: 200, outcome: 'allowed', causes: [] }
const BEGINNING = { request: {} as never, message: undefined, startedAt: 1 }

const safely = (observe: () => unknown): void => {
  try {
    observe()
  } catch {}
}

function recording(traceId: string, sampled: boolean): { readonly tracer: Tracer; readonly told: string[] } {
  const told: string[] = []
  const trace: Trace = {
    traceId,
    sampled,
    intoMeta: traceId === 'first',
    headers: [['traceparent', traceId]],
    part: ({ name }) => void told.push(name),
    end: () => void told.push('end'),
  }
  return { tracer: { start: () => trace }, told }
}

test('one tracer is used as it is, and without any there is none', () => {
  const { tracer } = recording('one', true)
  assert.equal(joinedTracer([], safely), undefined)
  assert.equal(joinedTracer([tracer], safely), tracer)
})

test('several tracers get the same; the target gets the trace of the first, an exemplar that of a sampled one', () => {
  const first = recording('first', false)
  const second = recording('second', true)
  const trace = joinedTracer([first.tracer, second.tracer], safely)?.start(BEGINNING)
  trace?.part?.({ name: 'target', startedAt: 1, endedAt: 2 })
  trace?.end?.(END)
  assert.deepEqual(
    [first.told, second.told],
    [
      ['target', 'end'],
      ['target', 'end'],
    ],
  )
  assert.deepEqual([trace?.headers, trace?.intoMeta], [[['traceparent', 'first']], true])
  assert.deepEqual([trace?.traceId, trace?.sampled], ['second', true])
})

test('a tracer that throws does not affect the others', () => {
  const thrower = (): never => assert.fail('no')
  const { tracer, told } = recording('other', false)
  const broken: Tracer = {
    start: () => ({ ...recording('broken', false).tracer.start(BEGINNING), part: thrower, end: thrower }),
  }
  const trace = joinedTracer([{ start: thrower }, broken, tracer], safely)?.start(BEGINNING)
  trace?.part?.({ name: 'target', startedAt: 1, endedAt: 2 })
  trace?.end?.(END)
  assert.deepEqual(told, ['target', 'end'])
})

test('a trace may have neither `part` nor `end`, alone and beside audits and other traces', async (t) => {
  for (const sampled of [true, false]) {
    const trace = { traceId: TRACE_ID, sampled, headers: [] }
    const bare = providing('bare', Tracer, { start: () => trace })
    for (const kinds of [[], ['audit'], ['audit', 'trace', 'measure'], ['trace']] as const) {
      const { log, lines } = recordedLog()
      const { entry, observed } = observing(...kinds)
      const app = await booted(t, [bare, entry, known(), taking], { log })
      await app.inject({
        method: 'POST',
        url: '/mcp',
        headers: asAnn,
        payload: { jsonrpc: '2.0', method: 'a' },
      })
      const faults = lines.filter(({ level }) => level === 'warn' || level === 'error')
      assert.deepEqual(faults, [])
      const { events, traces } = observed
      const isIn = (kind: string): boolean => kinds.some((each) => each === kind)
      assert.deepEqual([events[0]?.mcp?.method, events.length], isIn('audit') ? ['a', 1] : [undefined, 0])
      assert.deepEqual([traces[0]?.end?.status, traces.length], isIn('trace') ? [202, 1] : [undefined, 0])
    }
  }
})

test('a tracer that returns a promise is logged, and the process goes on', async (t) => {
  const late = (message: string) => ({
    start: () => Promise.reject(new Error(message)) as unknown as Trace,
  })
  for (const tracers of [[late('one')], [late('one'), late('other')]]) {
    const { log, lines } = recordedLog()
    const plugins = tracers.map((tracer, index) => providing(`late-${index}`, Tracer, tracer))
    const app = await booted(t, [...plugins, known(), taking], { log })
    const { statusCode } = await app.inject({ url: '/plain', headers: asAnn })
    assert.equal(statusCode, 200)
    assert.ok(lines.some(({ msg }) => msg === 'a tracer failed'))
  }
})
