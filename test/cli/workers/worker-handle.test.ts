import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { type Gateway, lives, ofTwo, once } from './several.js'

const asked = ({ internal }: Gateway, path: string) => once(`${internal}${path}`, path)

/** What somebody hears on a connection that a worker takes which moves. The other one may wait for one that hangs. */
async function heard(gateway: Gateway, path: string) {
  const both = [asked(gateway, path), asked(gateway, path)]
  const { status = 0, body = '' } = await Promise.race(both)
  return { status, body }
}

test('a worker that hangs holds nobody up for long: it is told of, killed and replaced', async (t) => {
  const gateway = await ofTwo(t)
  const hangs = gateway.pids().get(2) ?? 0
  await Promise.all(Array.from({ length: 6 }, (_, id) => once(gateway.url, `${id}`)))
  process.kill(hangs, 'SIGSTOP')

  const since = performance.now()
  const readiness = await heard(gateway, '/readiness')
  assert.deepEqual([readiness.status, readiness.body], [200, '{"status":"ready"}'])
  assert.deepEqual(JSON.parse((await heard(gateway, '/health')).body), { status: 'healthy' })
  const metrics = await heard(gateway, '/metrics')
  assert.equal(metrics.status, 200)
  assert.match(metrics.body, /^process_open_fds{worker="1"} \d+$/m)
  assert.doesNotMatch(metrics.body, /worker="2"/)
  const hup = gateway.until(/is in force"/)
  gateway.process.kill('SIGHUP')

  await hup
  assert.ok(performance.now() - since < 40_000)
  assert.equal(gateway.lines('a worker hangs and is killed').length, 1)
  await eventually(() => (gateway.pids().get(2) !== hangs && gateway.pids().has(2)) || undefined, 60)
  assert.equal((await asked(gateway, '/readiness')).status, 200)
  assert.equal(await gateway.counted('sallyport_worker_restarts_total'), 1)
  gateway.process.kill('SIGTERM')
  assert.equal(await gateway.ended(), 0)
  assert.equal(lives(hangs), false)
})
