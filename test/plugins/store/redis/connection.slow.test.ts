import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Redis } from 'ioredis'
import { ConfigError } from 'sallyport'
import { LogScrubber } from 'sallyport/embed'
import { pathsFrom } from 'sallyport/toolkit'
import { booted, recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { opened } from '#kit/listening.js'
import { plugin } from '#kit/plugin.js'
import { noRedis, testRedis } from '#kit/redis.js'
import { authority } from '#kit/tls.js'
import { READ_LIMIT, RedisConnection, WRITE_LIMIT } from '#plugins/store/redis/connection.js'

const skip = noRedis ?? false

type Options = Omit<Parameters<typeof RedisConnection.open>[0], 'prefix'>
type Admit = Parameters<typeof RedisConnection.open>[2]

async function connected(t: TestContext, options: Options, admit?: Admit) {
  const found: RedisConnection[] = []
  const connecting = plugin('connecting', async (gateway) => {
    const connection = await RedisConnection.open({ ...options, prefix: 'test:' }, gateway, admit)
    found.push(connection)
    gateway.onStart(() => connection.start())
    gateway.onStop(() => connection.close())
  })
  const { log, lines, scrubber } = recordedLog(new LogScrubber())
  await booted(t, [connecting], { log, scrubber })
  const [connection] = found
  assert.ok(connection)
  return { connection, lines, text: () => JSON.stringify(lines) }
}

/** Milliseconds until `work` has settled, and how. */
async function timed(work: Promise<unknown>): Promise<{ took: number; code: unknown }> {
  const begun = performance.now()
  const code = await work.then(
    () => 'settled',
    (error: unknown) => Reflect.get(Object(error), 'code'),
  )
  return { took: performance.now() - begun, code }
}

test('a server that stops and starts is connected to again, and commands meanwhile wait for it', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const { connection, lines } = await connected(t, { url: redis.url })
  assert.equal(connection.health().status, 'ok')

  await redis.kill()
  const waiting = connection.run((client) => client.set('a', '1'), WRITE_LIMIT)
  await eventually(() => connection.health().status === 'degraded')
  await redis.start()

  assert.equal(await waiting, 'OK')
  assert.equal(await connection.run((client) => client.get('a')), '1')
  assert.equal(connection.health().status, 'ok')
  const said = lines.map(({ msg }) => String(msg)).filter((line) => line.startsWith('Redis can'))
  assert.deepEqual(
    [said[0], said.at(-1)],
    ['Redis cannot be used; the gateway retries', 'Redis can be used again'],
  )
})

test('a silent server delays no caller longer than the limits', { skip }, async (t) => {
  const redis = await testRedis(t)
  const { connection } = await connected(t, { url: redis.url })
  redis.pause()

  const [read, write] = await Promise.all([
    timed(connection.run((client) => client.get('a'))),
    timed(connection.run((client) => client.set('a', '1'), WRITE_LIMIT)),
  ])

  assert.deepEqual([read.code, write.code], ['REDIS_UNAVAILABLE', 'REDIS_UNAVAILABLE'])
  // Timers of a busy machine are late.
  assert.ok(read.took < READ_LIMIT + 1_000, `a read took ${read.took} ms`)
  assert.ok(write.took < WRITE_LIMIT + 1_000, `a write took ${write.took} ms`)
  redis.resume()
  assert.equal(await connection.run((client) => client.ping(), WRITE_LIMIT), 'PONG')
})

test('a server that is away at the start is used as soon as it is there', { skip }, async (t) => {
  const redis = await testRedis(t, { stopped: true })
  const { connection } = await connected(t, { url: redis.url })
  assert.deepEqual(connection.health(), {
    status: 'down',
    reason: 'nothing listens there',
  })

  await redis.start()

  assert.equal(await connection.run((client) => client.ping(), WRITE_LIMIT), 'PONG')
})

test('a wrong password is reported and never shown; the file of the URL is read again', {
  skip,
}, async (t) => {
  const [right, wrong] = ['r1ght/p@ss:word', 'wr0ng-p@ssword']
  const redis = await testRedis(t, { password: right })
  const urlFile = join(
    folder(t, { url: redis.url.replace(encodeURIComponent(right), encodeURIComponent(wrong)) }),
    'url',
  )
  const { connection, text } = await connected(t, { urlFile })
  assert.match(String(connection.health().reason), /refused the user or the password/)
  await assert.rejects(
    connection.run((client) => client.ping()),
    (error: Error) =>
      !JSON.stringify([error, error.message, error.stack, String(error.cause)]).includes(wrong),
  )

  writeFileSync(urlFile, `${redis.url}\n`)

  assert.equal(await connection.run((client) => client.ping(), WRITE_LIMIT), 'PONG')
  // While it runs, too: the server asks the next connection for another one.
  const admin = redis.client()
  await admin.config('SET', 'requirepass', 'another-one')
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await eventually(() => connection.health().status === 'degraded')
  writeFileSync(urlFile, redis.url.replace(encodeURIComponent(right), 'another-one'))
  assert.equal(await connection.run((client) => client.ping(), WRITE_LIMIT), 'PONG')
  for (const password of [right, wrong, 'another-one']) {
    assert.ok(!text().includes(password))
    assert.ok(!text().includes(encodeURIComponent(password)))
  }
})

test('TLS is verified, with an authority of its own', { skip }, async (t) => {
  const ca = authority(t)
  const { cert, key } = ca.issue(['127.0.0.1'])
  const files = folder(t, { cert, key })
  const tls = { certFile: join(files, 'cert'), keyFile: join(files, 'key'), caFile: ca.file }
  const redis = await testRedis(t, { tls })
  const trusting = await connected(t, { url: redis.url, caCertPath: ca.file })
  const stranger = await connected(t, { url: redis.url })
  const plain = await connected(t, { url: redis.url.replace('rediss:', 'redis:') })

  assert.equal(await trusting.connection.run((client) => client.ping()), 'PONG')
  assert.match(String(stranger.connection.health().reason), /authority that is not trusted/)
  assert.equal(plain.connection.health().status, 'down')
})

test('a connection that is not fit for use is not used, and a start with it is refused', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const unfit = async (): Promise<void> => {
    throw new ConfigError([{ place: 'url', message: 'not this one' }])
  }

  await assert.rejects(connected(t, { url: redis.url }, unfit), {
    code: 'CONFIG_INVALID',
    message: /not this one/,
  })
})

test('a command that the server refuses is an error of its own, and the connection stays', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const { connection } = await connected(t, { url: redis.url })
  const { client } = connection

  await assert.rejects(
    connection.run((each) => each.call('NONESUCH', 'secret-argument')),
    (error: Error) =>
      !JSON.stringify([error, error.message, String(error.cause)]).includes('secret-argument'),
  )
  assert.equal(connection.client, client)
})

test('a server that became a replica is retried with growing pauses, and logged once', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const { connection, lines } = await connected(t, { url: redis.url })
  const admin = redis.client()
  await admin.replicaof('127.0.0.1', '1')
  const count = async () => Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1])
  const before = await count()

  await assert.rejects(
    connection.run((client) => client.set('test:a', '1')),
    { code: 'REDIS_UNAVAILABLE', message: /it is a replica/ },
  )

  assert.match(String(connection.health().reason), /it is a replica/)
  const opened = (await count()) - before
  assert.ok(opened < 10, `${opened} connections were opened`)
  const said = (): number => lines.filter(({ msg }) => String(msg).startsWith('Redis can')).length
  assert.equal(said(), 1)
  await admin.replicaof('NO', 'ONE')
  assert.equal(await connection.run((client) => client.set('test:a', '1'), WRITE_LIMIT), 'OK')
  assert.deepEqual([connection.health(), said()], [{ status: 'ok' }, 2])
})

test('a server that refuses writes is degraded until it accepts one, and answers reads meanwhile', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const admin = redis.client()
  await admin.config('SET', 'maxmemory', '1')
  const { connection, lines } = await connected(t, { url: redis.url })
  const reason = 'it refused the last write: its memory is full (maxmemory)'
  assert.deepEqual(connection.health(), { status: 'degraded', reason })
  assert.equal(await connection.run((client) => client.get('test:a')), null)
  assert.deepEqual(connection.health(), { status: 'degraded', reason })
  await admin.config('SET', 'maxmemory', '0')
  // By itself, whether somebody writes or not.
  await eventually(() => connection.health().status === 'ok')

  await admin.call('ACL', 'SETUSER', 'default', '-set')
  await assert.rejects(
    connection.run((client) => client.set('test:a', '1')),
    { message: /may not use a command/ },
  )
  assert.match(String(connection.health().reason), /refused the last write: the user may not use/)
  const said = lines.filter(({ msg }) => /^Redis (?:refuses|accepts)/.test(String(msg)))
  assert.equal(said.length, 3)
})

test('nothing is open after a stop, also while it connects', { skip }, async (t) => {
  const { port, sockets } = await opened(
    t,
    createServer((socket) => void socket.resume()),
  )
  const gateway = { ...recordedLog(), id: 'test', meter: quietMeter, path: pathsFrom('') }
  const connection = await RedisConnection.open(
    { url: `redis://127.0.0.1:${port}`, prefix: 'test:' },
    gateway,
  )
  const starting = connection.start()

  await connection.close()

  await starting
  await eventually(() => sockets.size === 0)
  await assert.rejects(
    connection.run((client) => client.ping()),
    { code: 'REDIS_UNAVAILABLE' },
  )
})

test('a connection that is there only after the stop is closed', { skip }, async (t) => {
  const redis = await testRedis(t)
  const gateway = { ...recordedLog(), id: 'test', meter: quietMeter, path: pathsFrom('') }
  let closed: Promise<void> | undefined
  let admitted: Redis | undefined
  const connection = await RedisConnection.open(
    { url: redis.url, prefix: 'test:' },
    gateway,
    async (client) => {
      admitted = client
      closed = connection.close()
    },
  )
  await connection.start()
  await closed
  assert.deepEqual([connection.client, admitted?.status], [undefined, 'end'])
})

const quietMeter = { counter: () => () => {}, gauge: () => () => {}, histogram: () => () => {} }
