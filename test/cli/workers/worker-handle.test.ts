import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { anew, type Gateway, lives, ofTwo, once } from './several.js'

/** A plugin whose process opens files until it may open no more, when a test says so. */
const FILLS = `
  import { openSync } from 'node:fs'
  export default {
    name: 'fills',
    api: 1,
    setup(gateway) {
      process.once('SIGUSR2', () => {
        try {
          for (;;) openSync('/dev/null')
        } catch ({ code }) {
          gateway.log.warn('full: ' + code)
        }
      })
    },
  }`

const asked = ({ internal }: Gateway, path: string) => once(`${internal}${path}`, path)

/** The response of a worker that does not hang. A second connection may wait for a worker that hangs. */
async function heard(gateway: Gateway, path: string) {
  const both = [asked(gateway, path), asked(gateway, path)]
  const { status = 0, body = '' } = await Promise.race(both)
  return { status, body }
}

test('a worker that hangs is logged, killed and replaced', async (t) => {
  const gateway = await ofTwo(t)
  const hangs = gateway.pidOf(2)
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

test('a worker that could open no file for a connection is replaced', async (t) => {
  if (spawnSync('prlimit', ['--version']).error !== undefined) return t.skip('there is no prlimit here')
  const gateway = await ofTwo(t, { files: { 'fills.mjs': FILLS }, further: '  - { use: ./fills.mjs }' })
  const [stays, full] = [gateway.pidOf(1), gateway.pidOf(2)]
  assert.equal(spawnSync('prlimit', [`--pid=${full}`, '--nofile=64:64']).status, 0)
  process.kill(full, 'SIGUSR2')
  await gateway.until(/full: EMFILE/)

  // The lost connection gets no response.
  for (let asked = 0; asked < 4; asked++) void anew(gateway.url, `${asked}`)
  await gateway.until(/could open no file for a connection/)
  await eventually(() => (gateway.pids().get(2) !== full && gateway.pids().has(2)) || undefined, 60)
  const found = await Promise.all(Array.from({ length: 8 }, (_, id) => anew(gateway.url, `after-${id}`)))
  assert.deepEqual(new Set(found.map(({ body }) => Number(body))), new Set([stays, gateway.pids().get(2)]))
  gateway.process.kill('SIGTERM')
  assert.equal(await gateway.ended(), 0)
})
