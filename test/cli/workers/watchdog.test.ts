import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { type Gateway, lives, ofTwo, once } from './several.js'

interface Readiness {
  readonly status?: string
  readonly checks?: Readonly<Record<string, { readonly status: string; readonly reason?: string }>>
}

const asked = ({ internal }: Gateway, path: string) => once(`${internal}${path}`, path)

/** What somebody hears on a connection that a worker takes which moves. */
async function heard(gateway: Gateway, path: string) {
  const both = [asked(gateway, path), asked(gateway, path)]
  const { status = 0, body = '' } = await Promise.race(both)
  return { status, body, both: Promise.all(both) }
}

test('a worker that hangs holds nobody up for long: it is told of, killed and replaced', async (t) => {
  const gateway = await ofTwo(t)
  const hangs = gateway.pids().get(2) ?? 0
  await Promise.all(Array.from({ length: 6 }, (_, id) => once(gateway.url, `${id}`)))
  process.kill(hangs, 'SIGSTOP')

  const since = performance.now()
  const readiness = await heard(gateway, '/readiness')
  assert.deepEqual(
    [readiness.status, (JSON.parse(readiness.body) as Readiness).checks?.['worker 2']],
    [503, { status: 'down', reason: 'it does not answer' }],
  )
  assert.deepEqual(JSON.parse((await heard(gateway, '/health')).body), { status: 'healthy' })
  const metrics = await heard(gateway, '/metrics')
  assert.equal(metrics.status, 200)
  assert.match(metrics.body, /^process_open_fds{worker="1"} \d+$/m)
  assert.doesNotMatch(metrics.body, /worker="2"/)
  const hup = gateway.until(/is in force"/)
  gateway.process.kill('SIGHUP')

  // What goes to the worker that hangs is answered too, once that is gone: a caller, a probe, an exchange of lists.
  const all = await Promise.all([readiness.both, metrics.both])
  assert.deepEqual(new Set(all.flat().map(({ code }) => code)), new Set([undefined]))
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

test('while a worker is gone the others answer for the gateway, which says that it is short of one', async (t) => {
  const gateway = await ofTwo(t)
  await Promise.all(Array.from({ length: 6 }, (_, id) => once(gateway.url, `${id}`)))
  assert.equal(await gateway.counted('sallyport_http_requests_total'), 6)
  process.kill(gateway.pids().get(1) ?? 0, 'SIGKILL')
  await gateway.until(/a worker died/)

  const { status, body = '' } = await asked(gateway, '/readiness')
  assert.deepEqual(
    [status, JSON.parse(body)],
    [200, { status: 'ready', checks: { workers: { status: 'degraded', reason: '1 of 2 take requests' } } }],
  )
  assert.equal((await asked(gateway, '/health')).status, 200)
  // What had been told of the dead one before is still in the sum.
  assert.equal(await gateway.counted('sallyport_http_requests_total'), 6)
  await eventually(() => gateway.lines('a worker is ready').length === 3 || undefined, 60)
  assert.deepEqual(JSON.parse((await asked(gateway, '/readiness')).body ?? ''), { status: 'ready' })
})
