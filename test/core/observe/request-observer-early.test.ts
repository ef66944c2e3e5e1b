import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { type AuditEvent, AuditSink, type Judgement } from 'sallyport'
import { serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { listen, providing } from '#kit/plugin.js'
import { dial } from '#kit/raw.js'
import { ALLOWED, JSON_TYPE, mcpRoute, policy, toolCall } from '../gate/judged.js'

/** A call whose caller leaves while a policy decides about it, and the events of the call. */
async function leftEarly(t: TestContext) {
  const events: AuditEvent[] = []
  const auditing = providing('auditing', AuditSink, (event) => void events.push(event))
  const thinking = new EventEmitter()
  const asked = once(thinking, 'asked')
  const slow = policy(async () => {
    const decided: Promise<Judgement[]> = once(thinking, 'decided')
    thinking.emit('asked')
    return (await decided)[0] ?? assert.fail()
  })
  const decide = (judgement: Judgement): boolean => thinking.emit('decided', judgement)
  const list = [listen, { use: 'auth/anonymous' }, auditing, mcpRoute, slow]
  const running = await serving(t, list)
  const { addresses } = running

  const leaving = new AbortController()
  const init = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(toolCall('secret')) }
  const left = fetch(`${addresses.main}/mcp`, { ...init, signal: leaving.signal })
  await asked
  leaving.abort()
  await assert.rejects(left)
  const told = () =>
    events.map(({ kind, status, outcome, causes, mcp }) => [kind, status, outcome, causes, mcp?.name])
  // The requests of one connection end in their order.
  await fetch(`${addresses.main}/plain`, { method: 'POST' })
  await eventually(() => events.length > 0)
  return { decide, running, told: () => told().slice(1) }
}

test('a call that is denied after its caller has left has one event', async (t) => {
  const { decide, told } = await leftEarly(t)
  assert.deepEqual(told(), [])
  decide({ allowed: false, reason: 'not for you' })
  await eventually(() => told().length > 0)
  assert.deepEqual(told(), [['refused', 499, 'denied', ['denied'], 'secret']])
})

test('a call that is allowed after its caller has left has one event', async (t) => {
  const { decide, told } = await leftEarly(t)
  decide(ALLOWED)
  await eventually(() => told().length > 0)
  assert.deepEqual(told(), [['called', 499, 'failed', ['aborted'], 'secret']])
})

test('a call that is still undecided when the gateway stops has one event', async (t) => {
  const { running, told } = await leftEarly(t)
  await running.stop(0)
  assert.deepEqual(told(), [['called', 499, 'failed', ['aborted'], 'secret']])
})

test('a call whose caller leaves in the middle of its body has one event', async (t) => {
  const events: AuditEvent[] = []
  const auditing = providing('auditing', AuditSink, (event) => void events.push(event))
  const list = [listen, { use: 'auth/anonymous' }, auditing, mcpRoute, policy(() => ALLOWED)]
  const { main = '' } = (await serving(t, list)).addresses
  const leaving = dial(main)
  leaving.write(
    'POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
  )
  await fetch(`${main}/mcp`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(toolCall('open')) })
  leaving.destroy()
  await eventually(() => events.length > 1)
  await fetch(`${main}/mcp`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(toolCall('open')) })
  await eventually(() => events.filter(({ status }) => status === 200).length === 2)
  const told = events.filter(({ status }) => status === 499)
  assert.deepEqual(
    told.map(({ kind, outcome, causes }) => [kind, outcome, causes]),
    [['refused', 'denied', ['body_incomplete']]],
  )
})
