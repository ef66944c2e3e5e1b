import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ResponseBudget, UnreadResponse } from '#core/mcp/held-responses.js'
import type { ResponseSink } from '#core/mcp/response.js'
import { eventually } from '#kit/captured-log.js'
import { runs } from '#kit/runs.js'

const MIB = 1024 ** 2
const LIMIT = 4 * MIB
const HEAD = { status: 200, reason: 'OK', headers: [] }

/** A response whose caller reads when `read` is called. */
function opened(budget: ResponseBudget, timeout = 60_000) {
  const out: Buffer[] = []
  const state = { ended: 0, resumed: 0, failed: '' }
  let drain: () => void = () => {}
  const sink: ResponseSink = {
    begin: (_head, call) => {
      drain = () => call.resume()
    },
    data: (chunk) => out.push(Buffer.from(chunk)) < 0,
    end: () => ++state.ended > 0,
    discard: () => {},
  }
  const response = new UnreadResponse(sink, budget, timeout, (error) => {
    state.failed = String(Object(error).code)
    response.discard()
  })
  response.begin(HEAD, { resume: () => state.resumed++, abort: () => {} })
  return { response, out, state, read: () => drain() }
}

const isEmpty = (budget: ResponseBudget): boolean => {
  const isFree = budget.reserve(LIMIT)
  if (isFree) budget.free(LIMIT)
  return isFree
}

test('data arrives in order, in small parts, and counts until the caller reads it', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 300_000 }), { minLength: 1, maxLength: 6 })
  const run = fc.property(sizes, fc.boolean(), (lengths, ends) => {
    const budget = new ResponseBudget(LIMIT)
    const { response, out, state, read } = opened(budget)
    const chunks = lengths.map((length, index) => Buffer.alloc(length, index + 1))
    for (const chunk of chunks) response.data(chunk)
    if (ends) response.end([])
    assert.equal(
      isEmpty(budget),
      lengths.every((length) => length <= 64 * 1024),
    )

    for (let turn = 0; turn < 100; turn++) read()
    assert.deepEqual(Buffer.concat(out), Buffer.concat(chunks))
    assert.ok(out.every(({ length }) => length <= 64 * 1024))
    assert.ok(isEmpty(budget))
    assert.equal(state.ended, ends ? 1 : 0)
    assert.equal(state.resumed > 0, !ends || lengths.every((length) => length <= 64 * 1024))
  })
  fc.assert(run, { numRuns: runs(50) })
})

test('without room, the response whose caller has not read for longest ends', async () => {
  const budget = new ResponseBudget(LIMIT)
  const [idle, slow] = [opened(budget), opened(budget)]
  for (const { response } of [idle, slow]) response.data(Buffer.alloc(1.5 * MIB))
  const reading = setInterval(slow.read, 20)

  const later = opened(budget)
  await eventually(() => {
    try {
      later.response.data(Buffer.alloc(1.5 * MIB))
      return true
    } catch (error) {
      assert.equal(Object(error).code, 'RESPONSES_FULL')
      return false
    }
  })
  clearInterval(reading)
  assert.deepEqual([idle.state.failed, slow.state.failed, later.state.failed], ['CALLER_TOO_SLOW', '', ''])
  for (const { response } of [slow, later]) response.discard()
  assert.ok(isEmpty(budget))
})

test('a response that is ended to make room for itself takes no room', async () => {
  const budget = new ResponseBudget(LIMIT)
  const { response, state } = opened(budget)
  response.data(Buffer.alloc(2 * MIB))

  await eventually(() => {
    try {
      return !response.data(Buffer.alloc(3 * MIB))
    } catch (error) {
      assert.equal(Object(error).code, 'RESPONSES_FULL')
      return false
    }
  })
  assert.equal(state.failed, 'CALLER_TOO_SLOW')
  assert.ok(isEmpty(budget))
})

test('a response whose caller does not read for long is ended', async () => {
  const budget = new ResponseBudget(LIMIT)
  const { response, state } = opened(budget, 20)
  response.data(Buffer.alloc(MIB))
  response.end([])

  await eventually(() => state.failed === 'CALLER_TOO_SLOW')
  assert.ok(isEmpty(budget))
})
