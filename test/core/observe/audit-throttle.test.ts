import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type AuditEvent, AuditSink, Authenticator, BearerToken, Refusal } from 'sallyport'
import { boot } from 'sallyport/embed'
import { AuditThrottle } from '#core/observe/audit-throttle.js'
import { contextFor } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { closed, plugin, providing } from '#kit/plugin.js'

const named = providing('named', Authenticator, {
  provider: 'corp',
  authenticate: async ({ credentials }) =>
    credentials instanceof BearerToken
      ? { identity: { provider: 'corp', subject: credentials.token, claims: {} } }
      : { rejection: { kind: 'invalid', cause: 'no_token' } },
})

const forbidding = plugin('forbidding', ({ http }) =>
  http.get('/forbidden', async () => {
    throw new Refusal(403, 'INSUFFICIENT_SCOPE', 'not for you')
  }),
)

test('a flood without tokens causes a few events, and other callers keep one each', async (t) => {
  const events: AuditEvent[] = []
  const root = folder(t, {})
  const sink = providing('sink', AuditSink, (event) => void events.push(event))
  const file = { use: 'audit/file', with: { path: './audit.jsonl' } }
  const running = await boot([sink, file, named, closed, forbidding], contextFor({ folder: root }))
  await running.ready({})
  for (let count = 0; count < 2_000; count++) {
    await running.app.inject({ url: '/', remoteAddress: `192.0.2.${count % 250}` })
    if (count % 100 !== 0) continue
    for (const url of ['/', '/forbidden'])
      await running.app.inject({ url, headers: { authorization: 'Bearer ada' } })
  }
  await running.stop()

  const of = (kind: string) => events.filter((event) => event.kind === kind && event.subject === 'ada').length
  assert.deepEqual([of('accepted'), of('refused')], [20, 20])
  const strangers = events.filter(({ subject }) => subject === undefined)
  assert.equal(strangers.length, 11)
  const { more, addresses, status, route, address } = strangers.at(-1) ?? {}
  assert.deepEqual([more, addresses, status, route, address], [1_990, 250, 401, '/', undefined])
  assert.ok(statSync(join(root, 'audit.jsonl')).size < 51 * 320)
})

test('the kinds of refusals that strangers cause are bounded too, and all are counted', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const passed: AuditEvent[] = []
  const throttle = new AuditThrottle((event) => passed.push(event))
  const refused = { kind: 'refused', at: 'now', requestId: '1', method: 'GET', status: 401 } as const
  for (let count = 0; count < 20_000; count++)
    throttle.add({ ...refused, route: `/${count % 500}`, address: `a${count}` })
  t.mock.timers.tick(60_000)

  assert.ok(passed.length <= 100 + 17, String(passed.length))
  assert.equal(
    passed.reduce((sum, { more = 1 }) => sum + more, 0),
    20_000,
  )
  assert.equal(
    passed.reduce((sum, { addresses = 0 }) => sum + addresses, 0),
    10_000,
  )
  passed.length = 0
  throttle.add({ ...refused, route: '/' })
  assert.equal(passed.length, 1, 'the next minute begins anew')
})
