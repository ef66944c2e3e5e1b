import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { type Health, Health as HealthCapability } from 'sallyport'
import { contractSuite } from 'sallyport/testing'
import { booted } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { deferred } from '#kit/deferred.js'
import { plugin } from '#kit/plugin.js'
import { noRedis, type TestRedis, testRedis } from '#kit/redis.js'
import { variables } from '#kit/variables.js'
import { storeSuite, storing } from './storing.js'

const skip = noRedis ?? false
const KEY = { passphrase: 'open sesame' }

const entryAt = (url: string, options: object = {}) => ({
  use: 'state/redis',
  with: { url, ...KEY, ...options },
})
const storeAt = async (t: TestContext, { url }: TestRedis, options?: object) =>
  storing(t, [entryAt(url, options)])

if (noRedis === undefined) {
  storeSuite('state/redis', async (t) => entryAt((await testRedis(t)).url))
  contractSuite('state/redis', async (t) => ({ list: [entryAt((await testRedis(t)).url)] }))
}

test('stored values are encrypted, and survive a kill of Redis', { skip }, async (t) => {
  const redis = await testRedis(t)
  const { store } = await storeAt(t, redis)
  await store.set('login', 'refresh-token-of-somebody')

  await redis.kill()
  await redis.start()

  assert.equal(await store.get('login'), 'refresh-token-of-somebody')
  const raw = await redis.client().get('sallyport:state:login')
  assert.ok(raw !== null && !raw.includes('refresh-token'))
})

test('keys are listed by any prefix as text, also with halves of characters and patterns', {
  skip,
}, async (t) => {
  const { store } = await storeAt(t, await testRedis(t), { prefix: 'a*[b]?\\' })
  const text = fc.oneof(
    fc.string({
      unit: fc.constantFrom('*', '?', '[', ']', '\\', '^', '-', '"', 'a', '\ud83d', '\ude00', '\0', '/'),
    }),
    fc.string({ unit: 'binary' }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 6 }), text, async (names, prefix) => {
      for (const name of [...names, prefix]) await store.set(name, 'x')
      const expected = [...new Set([...names, prefix])].filter((name) => name.startsWith(prefix)).sort()
      assert.deepEqual(await store.keys(prefix), expected)
      for (const name of [...names, prefix]) await store.delete(name)
    }),
    { numRuns: 60 },
  )
})

test('all of many keys are listed, and none that another program has put beside them', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const { store } = await storeAt(t, redis)
  const names = Array.from({ length: 3_000 }, (_, index) => `key ${index}`)
  const others = ['"', '\\u0061'].map((name) => `sallyport:state:${name}`)
  await redis
    .client()
    .mset(...[...names.map((name) => `sallyport:state:${name}`), ...others].flatMap((name) => [name, 'x']))

  assert.deepEqual(await store.keys(''), names.toSorted())
})

test('two stores of one server have one lock, and a write after the lock was lost fails', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const [{ store: one }, { store: other }] = await Promise.all([storeAt(t, redis), storeAt(t, redis)])
  let inside = 0
  const count = async (store: typeof one) =>
    store.locked('count', async () => {
      assert.equal(++inside, 1)
      const before = Number((await store.get('count')) ?? 0)
      await store.set('count', String(before + 1))
      inside--
    })
  await Promise.all(Array.from({ length: 20 }, (_, index) => count(index % 2 === 0 ? one : other)))
  assert.equal(await one.get('count'), '20')

  const lost = one.locked('outer', () =>
    one.locked('count', async () => {
      await redis.client().del('sallyport:lock:outer')
      await one.set('count', 'stale')
    }),
  )
  await assert.rejects(lost, { code: 'REDIS_LOCK_LOST', statusCode: 503 })
  await assert.rejects(
    one.locked('count', async () => {
      await redis.client().set('sallyport:lock:count', 'of somebody else')
      await one.delete('count')
    }),
    { code: 'REDIS_LOCK_LOST' },
  )
  assert.equal(await one.get('count'), '20')
  // Whoever lost it does not take it away from somebody else.
  assert.equal(await redis.client().get('sallyport:lock:count'), 'of somebody else')
})

test('code that outlives the work of a lock no longer writes under the lock', { skip }, async (t) => {
  const { store } = await storeAt(t, await testRedis(t))
  let later = Promise.resolve()
  const { promise: released, resolve: release } = deferred()

  await store.locked('a', async () => {
    later = released.then(() => store.set('b', 'later'))
  })
  release()
  await later

  assert.equal(await store.get('b'), 'later')
})

test('the result of work under a lock counts, although Redis then neither renews nor releases the lock', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const { store } = await storeAt(t, redis)
  const admin = redis.client()
  // It would end the gateway.
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  const refused = async () =>
    Number(/cmdstat_eval:.*rejected_calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0)

  const done = await store.locked('key', async () => {
    await admin.acl('SETUSER', 'default', '-eval')
    // One of the heartbeat, and one of the lock.
    await eventually(async () => (await refused()) >= 2)
    return 'done'
  })

  assert.deepEqual([done, unhandled], ['done', []])
})

test('a value of another passphrase is refused, and not overwritten', { skip }, async (t) => {
  const redis = await testRedis(t)
  const { store } = await storeAt(t, redis)
  const { store: wrong } = await storeAt(t, redis, { passphrase: 'open barley' })
  await store.set('login', 'token')

  await assert.rejects(wrong.get('login'), { code: 'STATE_SEALED' })
  await assert.rejects(wrong.set('login', 'mine'), { code: 'STATE_SEALED' })

  assert.equal(await store.get('login'), 'token')
})

const list = (url: string, options?: object) => [entryAt(url, options)]

test('a server that is not durable is refused, with the settings to change', { skip }, async (t) => {
  const redis = await testRedis(t, { argv: ['--appendonly', 'no', '--maxmemory-policy', 'allkeys-lru'] })
  await assert.rejects(booted(t, list(redis.url)), {
    code: 'CONFIG_INVALID',
    message: /appendonly yes[\s\S]*maxmemory-policy noeviction/,
  })
})

test('without the right to CONFIG the store reads INFO, and without both the operator must confirm', {
  skip,
}, async (t) => {
  const redis = await testRedis(t)
  const admin = redis.client()
  await admin.acl('SETUSER', 'info', 'on', '>info-password', '~*', '&*', '+@all', '-config')
  await admin.acl('SETUSER', 'none', 'on', '>none-password', '~*', '&*', '+@all', '-config', '-info')
  const as = (name: string): string => redis.url.replace('//', `//${name}:${name}-password@`)

  await booted(t, list(as('info')))
  await admin.config('SET', 'appendonly', 'no')
  await assert.rejects(booted(t, list(as('info'), { knownDurable: true })), { message: /appendonly yes/ })
  await assert.rejects(booted(t, list(as('none'))), { code: 'CONFIG_INVALID', message: /knownDurable/ })
  await booted(t, list(as('none'), { knownDurable: true }))
})

test('without a key, without a URL or with a bad one the start is refused', async (t) => {
  variables(t, { SALLYPORT_STATE_PASSPHRASE: undefined })
  const start = (options: object) => booted(t, [{ use: 'state/redis', with: options }])

  await assert.rejects(start({ url: 'redis://127.0.0.1:1' }), { message: /SALLYPORT_STATE_PASSPHRASE/ })
  await assert.rejects(start(KEY), { message: /`url` or `urlFile`/ })
  await assert.rejects(start({ ...KEY, url: 'redis://a:p4ssw0rd@b/x?y' }), (error: Error) => {
    assert.match(error.message, /redis:\/\/USER:PASSWORD@HOST/)
    assert.doesNotMatch(error.message, /p4ssw0rd/)
    return true
  })
})

test('a server that is away at the start: not ready with the reason, and judged once it is there', {
  skip,
}, async (t) => {
  const redis = await testRedis(t, { stopped: true })
  const checks: Health[] = []
  const looking = plugin('looking', (gateway) => {
    const all = gateway.use(HealthCapability)
    gateway.onStart(() => void checks.push(...all().filter(({ name }) => name === 'state/redis')))
  })
  await booted(t, [...list(redis.url), looking])
  const state = () => checks[0]?.check()
  assert.equal(state()?.status, 'down')
  assert.match(String(state()?.reason), /nothing listens/)

  await redis.start(['--appendonly', 'no'])
  await eventually(() => /appendonly/.test(String(state()?.reason)))
  assert.equal(state()?.status, 'down')
  await redis.client().config('SET', 'appendonly', 'yes')

  await eventually(() => state()?.status === 'ok')
})
