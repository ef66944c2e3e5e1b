import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { anew, ofTwo } from './several.js'

test('workers share an IPv6 address, and one that died has it again', async (t) => {
  const gateway = await ofTwo(t, { host: '[::1]' })
  assert.match(
    gateway.output.stdout,
    /^sallyport run listening on http:\/\/\[::1\]:\d+ \(health and metrics on http:\S+\)\n$/,
  )
  const answered = async (): Promise<number> => Number((await anew(gateway.url, 'asked')).body)
  const pids = new Set(gateway.pids().values())
  const seen = new Set<number>()
  await eventually(async () => seen.add(await answered()).size === 2 || undefined)
  assert.deepEqual(seen, pids)
  assert.ok((await gateway.counted('sallyport_http_requests_total')) >= 2)

  const [dies = 0] = pids
  process.kill(dies, 'SIGKILL')
  await eventually(() => gateway.lines('a worker is ready').length === 3 || undefined, 60)
  const again = [...gateway.pids().values()].find((pid) => !pids.has(pid))
  await eventually(async () => (await answered()) === again || undefined)
  gateway.process.kill('SIGHUP')
  await gateway.until(/is in force"/)
  assert.ok(Number.isInteger(await answered()))
  gateway.process.kill('SIGTERM')
  assert.equal(await gateway.ended(), 0)
})
