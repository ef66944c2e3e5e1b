import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { booted, recordedLog, serving } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listen, plugin } from '#kit/plugin.js'
import { noRedis, testRedis } from '#kit/redis.js'
import { startedProgram } from '#kit/started-program.js'

const skip = noRedis ?? false

const routes = plugin('routes', ({ http }) => void http.get('/', () => 'here'))

async function limited(t: TestContext, options: object) {
  const { log, lines, scrubber } = recordedLog()
  const list = [routes, { use: 'auth/anonymous' }, { use: 'limit/requests', with: options }]
  const app = await booted(t, list, { log, scrubber })
  const said = () => lines.map(({ msg }) => String(msg)).filter((line) => line.includes('counts'))
  const ask = async (remoteAddress = '192.0.2.1') =>
    (await app.inject({ url: '/', remoteAddress })).statusCode
  const passes = async (times: number, address?: string) =>
    (await Promise.all(Array.from({ length: times }, () => ask(address)))).filter((status) => status === 200)
      .length
  return { ask, passes, said, lines }
}

const HERE = 'Redis cannot be used: each process counts limits by itself'
const BACK = 'Redis can be used again: it counts the limits of all processes'

test('three processes count one limit exactly', { skip }, async (t) => {
  const { url } = await testRedis(t, { password: 'p@ss/word' })
  const limits = [
    { by: 'caller', rate: '100/10m', burst: 20 },
    { by: 'address', rate: '10000/1h' },
  ]
  const plugins = [
    listen,
    { use: 'auth/anonymous' },
    { use: 'limit/requests', with: { limits, redis: { url } } },
  ]
  const home = folder(t, { 'run.json': JSON.stringify({ plugins }) })
  const started = Array.from({ length: 3 }, () =>
    startedProgram(t, ['run', '--config', join(home, 'run.json')]),
  )
  const urls = await Promise.all(started.map((each) => each.ready()))

  const statuses = await Promise.all(
    Array.from({ length: 300 }, async (_, index) => (await fetch(urls[index % 3] ?? '')).status),
  )

  // There is no route: an accepted request gets a 404.
  assert.equal(statuses.filter((status) => status === 404).length, 120)
  assert.equal(statuses.filter((status) => status === 429).length, 180)
  for (const { output, process } of started) {
    assert.doesNotMatch(output.stderr, /p@ss|p%40ss/)
    process.kill('SIGTERM')
  }
  for (const each of started) assert.equal(await each.ended(), 0, each.output.stderr)
})

test('while Redis is down each process counts limits and logs that once, and then Redis counts again', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const options = { limits: [{ by: 'caller', rate: '5/10m' }], redis: redis.url }
  const one = await limited(t, options)
  const other = await limited(t, options)
  assert.equal(await one.passes(3), 3)

  await redis.kill()
  assert.equal(await one.passes(20), 5, 'a limit of its own, from the beginning')
  assert.equal(await other.passes(20), 5)
  assert.deepEqual([one.said(), other.said()], [[HERE], [HERE]])

  await redis.start()
  for (const each of [one, other]) {
    await eventually(async () => {
      await each.ask('192.0.2.2')
      return each.said().length === 2
    })
    assert.deepEqual(each.said(), [HERE, BACK])
  }
  // It keeps what it wrote; the other one goes on where this one was.
  assert.equal(await other.passes(20), 2)
  assert.equal(await one.passes(20), 0)
})

test('a stopped Redis delays a request for less than two seconds, and the next one not at all', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const { ask, said } = await limited(t, { limits: [{ by: 'caller', rate: '100/10m' }], redis: redis.url })
  assert.equal(await ask(), 200)
  redis.pause()

  const begun = performance.now()
  assert.equal(await ask(), 200)
  const held = performance.now() - begun
  assert.ok(held < 2_000, `it was held for ${held} ms`)
  for (let count = 0; count < 20; count++) assert.equal(await ask(), 200)
  const rest = performance.now() - begun - held
  assert.ok(rest < 1_000, `the others were held for ${rest} ms`)
  assert.deepEqual(said(), [HERE])

  redis.resume()
  await eventually(async () => (await ask()) === 200 && said().length === 2)
})

test('with a wrong password for Redis the gateway starts, counts in the process, and shows no password', {
  skip,
}, async (t) => {
  const redis = await testRedis(t, { password: 'r1ght-password' })
  const url = redis.url.replace('r1ght', 'wr0ng')
  const { passes, lines } = await limited(t, { limits: [{ by: 'caller', rate: '5/10m' }], redis: { url } })

  assert.equal(await passes(20), 5)
  assert.ok(lines.some(({ reason }) => /refused the user or the password/.test(String(reason))))
  assert.doesNotMatch(JSON.stringify(lines), /wr0ng/)
})

test('readiness recovers with Redis also without requests; a failure that only counting shows stays until the next count', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const limits = [{ by: 'address', rate: '5/10m' }]
  const { lines, log } = recordedLog()
  const list = [
    listen,
    { use: 'internal/server', with: { address: '127.0.0.1:0' } },
    { use: 'auth/anonymous' },
    { use: 'limit/requests', with: { limits, redis: redis.url } },
  ]
  const { main, internal } = (await serving(t, list, { log })).addresses
  const admin = redis.client()
  const health = async () => (await fetch(`${internal}/readiness`)).text()
  const away = async (reason: RegExp): Promise<void> => {
    await eventually(async () => {
      await fetch(String(main))
      return /limits count in this process/.test(await health())
    })
    assert.match(await health(), reason)
  }
  const isWell = async () => !(await health()).includes('degraded')

  await fetch(String(main))
  await admin.config('SET', 'maxmemory', '1')
  await away(/its memory is full/)
  await admin.config('SET', 'maxmemory', '0')
  await eventually(isWell)

  await redis.stop()
  await away(/./)
  await redis.start()
  await eventually(isWell)

  // The server accepts writes, and refuses the commands for counting.
  const other = redis.client()
  await other.call('ACL', 'SETUSER', 'default', '-eval', '-evalsha')
  const from = lines.length
  await away(/may not use a command/)
  await eventually(() => lines.slice(from).some(({ msg }) => String(msg).startsWith('Redis refuses')))
  const probes = async () => Number(/cmdstat_set:calls=(\d+)/.exec(await other.info('commandstats'))?.[1])
  const before = await probes()
  await eventually(async () => (await probes()) >= before + 2)
  assert.match(await health(), /may not use a command/)
  assert.ok(!lines.slice(from).some(({ msg }) => /takes writes again/.test(`${msg}`)))
  await other.call('ACL', 'SETUSER', 'default', '+eval', '+evalsha')
  await eventually(isWell)

  const [key = ''] = await other.keys('*limit*')
  await other.del(key)
  await other.lpush(key, 'theirs')
  await away(/WRONGTYPE/)
  await other.del(key)
  assert.equal(await isWell(), false)
  await fetch(String(main))
  assert.equal(await isWell(), true)
})
