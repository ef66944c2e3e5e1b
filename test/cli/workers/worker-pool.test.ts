import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { anew, listText, lives, load, ofTwo, once, reached } from './several.js'

const OPEN_METRICS = 'application/openmetrics-text; version=1.0.0'

test('workers serve one port as one gateway, and end together', async (t) => {
  const gateway = await ofTwo(t)
  assert.equal(
    gateway.output.stdout,
    `sallyport run listening on ${gateway.url} (health and metrics on ${gateway.internal})\n`,
  )
  for (const reported of ['these routes and paths need no credentials'])
    assert.equal(gateway.lines(reported).length, 1, reported)

  const answers = await Promise.all(Array.from({ length: 40 }, (_, id) => once(`${gateway.url}/`, `${id}`)))
  const pids = [...gateway.pids().values()]
  assert.deepEqual(new Set(answers.map(({ body }) => Number(body))), new Set(pids))
  assert.equal(await gateway.counted('sallyport_http_requests_total'), 40)
  assert.equal(await gateway.counted('sallyport_http_request_duration_seconds_count'), 40)
  const scraped = await fetch(`${gateway.internal}/metrics`, { headers: { accept: OPEN_METRICS } })
  assert.equal(scraped.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const metrics = await scraped.text()
  for (const worker of [1, 2])
    assert.match(metrics, new RegExp(`^process_open_fds{worker="${worker}"} \\d+$`, 'm'))
  assert.equal(metrics.match(/^# TYPE process_open_fds /gm)?.length, 1)
  const openMetrics = { accept: 'application/openmetrics-text;version=1.0.0,*/*;q=0.1' }
  const asked = await fetch(`${gateway.internal}/metrics`, { headers: openMetrics })
  assert.match(asked.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  assert.match(await asked.text(), /^process_open_fds\{worker="2"\}/m)

  gateway.process.kill('SIGHUP')
  await gateway.until(/is in force"/)
  assert.equal(gateway.lines('these routes and paths need no credentials').length, 2)

  // A list that not even the first worker can boot changes nothing in any.
  const fails = "export default { name: 'fails', api: 1, setup() { throw new Error('not today') } }"
  writeFileSync(join(gateway.home, 'fails.mjs'), fails)
  writeFileSync(join(gateway.home, 'gateway.yaml'), listText(gateway.internal, '  - { use: ./fails.mjs }'))
  gateway.process.kill('SIGHUP')
  assert.match(await gateway.until(/\{.*is not in force.*\}/), /not today/)
  const still = await Promise.all([1, 2, 3, 4].map((id) => anew(gateway.url, `${id}`)))
  assert.deepEqual(new Set(still.map(({ body }) => Number(body))), new Set(pids))

  const slow = once(`${gateway.url}/?ms=1500`, 'slow')
  await once(`${gateway.url}/`, 'after')
  gateway.process.kill('SIGTERM')
  assert.equal((await slow).status, 200)
  assert.equal(await gateway.ended(), 0)
  assert.deepEqual(pids.filter(lives), [])
})

test('the last of several waiting reloads counts', async (t) => {
  const gateway = await ofTwo(t)
  const slow = Promise.all(['slow-1', 'slow-2'].map((id) => anew(`${gateway.url}/?id=${id}&ms=4000`, id)))
  await eventually(() => reached(gateway.home, 'slow').length === 2)
  gateway.process.kill('SIGHUP')
  await gateway.until(/is in force"/)
  await eventually(() => {
    gateway.process.kill('SIGHUP')
    return gateway.lines('the configuration was read again, but a later reload replaces it').length > 0
  })
  for (const { status } of await slow) assert.equal(status, 200)
})

test('a killed worker loses only its own connections; a reload and a stop lose none', async (t) => {
  const gateway = await ofTwo(t, { host: '[::1]' })
  assert.match(
    gateway.output.stdout,
    / listening on http:\/\/\[::1\]:\d+ \(health and metrics on http:\S+\)\n$/,
  )
  const kept = load(gateway.url, 'kept')
  await kept.more(200)

  const [[number, pid] = [0, 0]] = gateway.pids()
  process.kill(pid, 'SIGKILL')
  await gateway.until(/a worker died/)
  const readiness = await once(`${gateway.internal}/readiness`, 'short of one')
  assert.deepEqual([readiness.status, readiness.body], [200, '{"status":"ready"}'])
  await kept.more(200)
  await eventually(() => gateway.lines('a worker is ready').length === 3 || undefined, 60)
  assert.deepEqual(
    gateway.lines('a worker died').map((line) => [line['worker'], line['pid'], line['end']]),
    [[number, pid, 'SIGKILL']],
  )
  const failures = kept.failed().length
  assert.ok(failures <= 8, JSON.stringify(kept.failed()))
  assert.equal(await gateway.counted('sallyport_worker_restarts_total'), 1)

  gateway.process.kill('SIGHUP')
  await gateway.until(/is in force"/)
  await kept.more(200)
  await kept.stop()
  // Node keeps a connection that it was just giving to the worker that died: one caller waits for its own limit.
  const unanswered = kept.failed().filter(({ code }) => code === 'nobody answers')
  assert.ok(unanswered.length <= 1, JSON.stringify(kept.failed()))
  assert.equal(kept.failed().length - unanswered.length, failures, JSON.stringify(kept.failed()))

  const asking = load(gateway.url, 'asking', { keepAlive: false })
  await asking.more(100)
  gateway.process.kill('SIGTERM')
  await asking.stop()
  assert.equal(await gateway.ended(), 0)
  // A late caller got a refused connection; a caller that reached a worker got a response.
  const answered = new Set(asking.outcomes.filter(({ status }) => status === 200).map(({ id }) => id))
  const lost = reached(gateway.home, 'asking').filter((id) => !answered.has(id))
  assert.deepEqual(lost, [])
  assert.ok(
    asking.failed().every(({ code }) => code !== undefined),
    JSON.stringify(asking.failed()),
  )
})
