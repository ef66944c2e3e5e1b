import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Trace, TraceEnd, Tracer } from 'sallyport'
import { joinedTracer } from '#core/http/joined-tracer.js'

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

test('one tracer is itself, and none is none', () => {
  const { tracer } = recording('one', true)
  assert.equal(joinedTracer([], safely), undefined)
  assert.equal(joinedTracer([tracer], safely), tracer)
})

test('several are told the same; the target hears of the first, an exemplar of one that is sampled', () => {
  const first = recording('first', false)
  const second = recording('second', true)
  const trace = joinedTracer([first.tracer, second.tracer], safely)?.start(BEGINNING)
  trace?.part({ name: 'target', startedAt: 1, endedAt: 2 })
  trace?.end(END)
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

test('one that throws takes nothing from the others', () => {
  const thrower = (): never => assert.fail('no')
  const { tracer, told } = recording('other', false)
  const broken: Tracer = {
    start: () => ({ ...recording('broken', false).tracer.start(BEGINNING), part: thrower, end: thrower }),
  }
  const trace = joinedTracer([{ start: thrower }, broken, tracer], safely)?.start(BEGINNING)
  trace?.part({ name: 'target', startedAt: 1, endedAt: 2 })
  trace?.end(END)
  assert.deepEqual(told, ['target', 'end'])
})
