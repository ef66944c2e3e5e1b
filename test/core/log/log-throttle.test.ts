import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type AuditEvent,
  AuditSink,
  Authenticator,
  definePlugin,
  type Instrument,
  type Labels,
  Telemetry,
} from 'sallyport'
import { boot } from 'sallyport/embed'
import { contextFor, recordedLog } from '#kit/booted.js'
import { fakeClock } from '#kit/fake-clock.js'
import { plugin, providing } from '#kit/plugin.js'

const WINDOW = 60_000

const routes = plugin('routes', ({ http }) => {
  http.get('/closed', () => 'let in')
  http.get('/other', () => 'let in')
  http.get('/failing', { config: { public: true } }, () => {
    throw new Error('no')
  })
  http.post('/wrong', { config: { public: true } }, () => 'taken')
})

/** Refuses every request, with the cause that it names. */
const refusing = providing('refusing', Authenticator, {
  provider: 'judge',
  authenticate: ({ headers }) => ({
    rejection: { kind: 'invalid', cause: String(headers['x-cause'] ?? 'signature') },
  }),
})

async function watched(t: TestContext) {
  const clock = fakeClock(t)
  const { log, lines } = recordedLog()
  const events: AuditEvent[] = []
  const counts = new Map<string, number>()
  const watching = definePlugin({
    name: 'watching',
    api: 1,
    provides: [AuditSink, Telemetry],
    setup: (gateway) => {
      gateway.provide(AuditSink, (event) => void events.push(event))
      gateway.provide(Telemetry, {
        measure: ({ name }: Instrument, value: number, labels: Labels) => {
          const key = [name, ...Object.values(labels)].join(' ')
          counts.set(key, (counts.get(key) ?? 0) + value)
        },
      })
    },
  })
  const running = await boot([refusing, { use: watching }, routes], contextFor({ log }))
  t.after(() => running.stop())
  const bearer = { authorization: 'Bearer x' }
  const ask = async (url: string, count: number, headers: Record<string, string> = bearer) => {
    for (let index = 0; index < count; index++) await running.app.inject({ url, headers })
  }
  const told = (start: string) => lines.filter(({ msg }) => String(msg).startsWith(start))
  return { running, clock, ask, told, events, counts }
}

test('refusals of one cause at one route are summarized after ten lines, and the metrics count all', async (t) => {
  const { clock, ask, told, events, counts } = await watched(t)

  await ask('/closed', 250)
  await ask('/other', 3)
  await ask('/closed', 1, { authorization: 'Bearer x', 'x-cause': 'claim:aud' })

  assert.equal(told('refused').length, 14)
  assert.equal(events.length, 14)
  assert.equal(counts.get('sallyport_refusals_total judge signature'), 253)

  await clock.advance(WINDOW)
  const [sum, ...more] = told('refused, and more of the same')
  assert.deepEqual(more, [])
  assert.deepEqual(
    events.slice(14).map((event) => event.more),
    [240],
  )
  assert.deepEqual(
    [sum?.['more'], sum?.['cause'], sum?.['route'], sum?.['provider'], sum?.['refused'], sum?.['status']],
    [240, 'signature', '/closed', 'judge', 'INVALID_TOKEN', 401],
  )

  await ask('/closed', 2)
  assert.equal(told('refused').length, 17)
  await clock.advance(WINDOW)
  assert.equal(told('refused').length, 17)
})

test('a stop writes the summary', async (t) => {
  const { running, ask, told } = await watched(t)

  await ask('/closed', 25)
  await running.stop()

  assert.deepEqual(
    told('refused, and').map(({ more }) => more),
    [15],
  )
})

test('errors that need no credentials are summarized too', async (t) => {
  const { running, ask, told } = await watched(t)

  await ask('/failing', 30)
  const headers = { 'content-type': 'application/json' }
  for (let index = 0; index < 30; index++)
    await running.app.inject({ method: 'POST', url: '/wrong', headers, payload: '{' })
  await running.stop()

  for (const message of ['a request failed', 'a request was invalid']) {
    assert.equal(told(message).length, 11, message)
    assert.equal(told(`${message}, and`)[0]?.['more'], 20)
  }
})

test('no number of kinds of refusals hides an error', async (t) => {
  const { ask, told } = await watched(t)

  for (let cause = 0; cause < 80; cause++)
    await ask('/closed', 11, { authorization: 'Bearer x', 'x-cause': `cause ${cause}` })
  await ask('/failing', 1)

  assert.deepEqual(
    told('a request failed').map(({ level, route }) => [level, route]),
    [['error', '/failing']],
  )
})

test('with many causes the log has few lines, and their sums are right', async (t) => {
  const { ask, clock, told, running } = await watched(t)
  const most = 65 * 11
  const flood = fc.array(fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 40 })), {
    maxLength: 60,
  })

  await fc.assert(
    fc.asyncProperty(flood, async (groups) => {
      const before = told('').length
      let asked = 0
      for (const [cause, count] of groups) {
        await ask('/closed', count, { authorization: 'Bearer x', 'x-cause': `cause ${cause}` })
        asked += count
      }
      await clock.advance(WINDOW)
      const lines = told('').slice(before)
      assert.ok(lines.length <= most, `${lines.length} lines`)
      const sum = lines.reduce((total, { more }) => total + (typeof more === 'number' ? more : 1), 0)
      assert.equal(sum, asked)
    }),
    { numRuns: 20 },
  )
  await running.stop()
})
