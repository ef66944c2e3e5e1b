import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { lives, load, ofTwo, once, reached } from './several.js'

test('workers answer on one port as one gateway, and end together', async (t) => {
  const gateway = await ofTwo(t)
  assert.equal(
    gateway.output.stdout,
    `sallyport run listening on ${gateway.url} (health and metrics on ${gateway.internal})\n`,
  )
  for (const told of ['these need no credentials']) assert.equal(gateway.lines(told).length, 1, told)

  const answers = await Promise.all(Array.from({ length: 40 }, (_, id) => once(`${gateway.url}/`, `${id}`)))
  const pids = [...gateway.pids().values()]
  assert.deepEqual(new Set(answers.map(({ body }) => Number(body))), new Set(pids))
  assert.equal(await gateway.counted('sallyport_http_requests_total'), 40)
  assert.equal(await gateway.counted('sallyport_http_request_duration_seconds_count'), 40)
  const metrics = await (await fetch(`${gateway.internal}/metrics`)).text()
  for (const worker of [1, 2])
    assert.match(metrics, new RegExp(`^process_open_fds{worker="${worker}"} \\d+$`, 'm'))
  assert.equal(metrics.match(/^# TYPE process_open_fds /gm)?.length, 1)

  // Nobody asks for the metrics before these lists are gone.
  await Promise.all(Array.from({ length: 10 }, (_, id) => once(`${gateway.url}/`, `${id}`)))
  gateway.process.kill('SIGHUP')
  await gateway.until(/is in force"/)
  assert.equal(await gateway.counted('sallyport_http_requests_total'), 50)
  assert.equal(gateway.lines('these need no credentials').length, 2)

  const slow = once(`${gateway.url}/?ms=1500`, 'slow')
  await once(`${gateway.url}/`, 'after')
  gateway.process.kill('SIGTERM')
  assert.equal((await slow).status, 200)
  assert.equal(await gateway.ended(), 0)
  assert.deepEqual(pids.filter(lives), [])
})

test('a worker that is killed costs its own connections; a reload and a stop cost nothing', async (t) => {
  const gateway = await ofTwo(t)
  const kept = load(gateway.url, 'kept')
  await kept.more(200)

  const [[number, pid] = [0, 0]] = gateway.pids()
  process.kill(pid, 'SIGKILL')
  await kept.more(200)
  await eventually(() => gateway.lines('a worker is ready').length === 3 || undefined, 60)
  assert.deepEqual(
    gateway.lines('a worker died').map((line) => [line['worker'], line['pid'], line['signal']]),
    [[number, pid, 'SIGKILL']],
  )
  const failures = kept.failed().length
  assert.ok(failures <= 8, JSON.stringify(kept.failed()))
  assert.equal(await gateway.counted('sallyport_worker_restarts_total'), 1)

  gateway.process.kill('SIGHUP')
  await gateway.until(/is in force"/)
  await kept.more(200)
  await kept.stop()
  assert.equal(kept.failed().length, failures, JSON.stringify(kept.failed()))

  const asking = load(gateway.url, 'asking', { keepAlive: false })
  await asking.more(100)
  gateway.process.kill('SIGTERM')
  await asking.stop()
  assert.equal(await gateway.ended(), 0)
  // Who came too late was told so by the port; whoever reached a worker was answered.
  const answered = new Set(asking.outcomes.filter(({ status }) => status === 200).map(({ id }) => id))
  const lost = reached(gateway.home, 'asking').filter((id) => !answered.has(id))
  assert.deepEqual(lost, [])
  assert.ok(
    asking.failed().every(({ code }) => code !== undefined),
    JSON.stringify(asking.failed()),
  )
})
