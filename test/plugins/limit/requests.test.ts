import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { List, RefusalReason } from 'sallyport'
import { booted, recordedLog } from '#kit/booted.js'
import { eventually } from '#kit/captured-log.js'
import { corp } from '#kit/corp.js'
import { plugin } from '#kit/plugin.js'
import { HOUR, twoClocks } from '#kit/two-clocks.js'

const routes = plugin('routes', ({ http }) => void http.get('/', () => 'here'))

const listWith = (options: object): List => [routes, corp(), { use: 'limit/requests', with: options }]

async function limited(t: TestContext, limits: readonly object[]) {
  const { log, lines } = recordedLog()
  const app = await booted(t, listWith({ limits }), { log })
  const ask = (token?: string, remoteAddress = '192.0.2.1') =>
    app.inject({
      url: '/',
      remoteAddress,
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    })
  const statuses = async (times: number, token?: string, address?: string) =>
    Promise.all(Array.from({ length: times }, async () => (await ask(token, address)).statusCode))
  /** The limits that requests were over, as the log says. */
  const over = () =>
    lines
      .flatMap(({ msg, reasons }) => (msg === 'refused' ? (reasons as RefusalReason[]) : []))
      .map(({ detail }) => detail)
  return { ask, statuses, over }
}

const passes = (statuses: readonly number[]): number => statuses.filter((status) => status === 200).length

test('each caller has a limit at any address, and each address has another', async (t) => {
  const { ask, statuses, over } = await limited(t, [
    { by: 'caller', rate: '5/1m' },
    { by: 'address', rate: '8/1m' },
  ])

  assert.deepEqual(
    [...(await statuses(3, 'alice')), ...(await statuses(3, 'alice', '192.0.2.2'))],
    [...[200, 200, 200, 200, 200], 429],
  )
  await eventually(() => over().length === 1 || undefined)
  assert.deepEqual(over(), ['limits[0]'])
  assert.equal(passes(await statuses(9, 'bob')), 5, 'the address has 8, and alice used 3')
  const { statusCode, headers, body } = await ask('carol')
  assert.equal(statusCode, 429)
  assert.ok(Number(headers['retry-after']) <= 60 && Number(headers['retry-after']) > 50)
  assert.equal(JSON.parse(body).error, 'too_many_requests')
  await eventually(() => over().includes('limits[1]') || undefined)
})

test('after `Retry-After` the next request passes, and not much before', async (t) => {
  const { ask } = await limited(t, [
    { by: 'caller', rate: '2/2s' },
    { by: 'address', rate: '3/1s' },
  ])
  assert.deepEqual([(await ask('alice')).statusCode, (await ask('alice')).statusCode], [200, 200])

  const { statusCode, headers } = await ask('alice')
  assert.deepEqual([statusCode, headers['retry-after']], [429, '2'])
  // A request that one limit refuses does not count for the other: this is the third of this address.
  assert.equal((await ask('bob')).statusCode, 200)
  assert.equal((await ask('bob')).statusCode, 429)

  await setTimeout(Number(headers['retry-after']) * 1_000)
  assert.equal((await ask('alice')).statusCode, 200)
})

test('`Retry-After` is no longer than the span, although the clock went back an hour', async (t) => {
  const clock = twoClocks(t)
  const { ask } = await limited(t, [{ by: 'caller', rate: '1/1m' }])
  assert.equal((await ask('alice')).statusCode, 200)
  clock.set(-HOUR)
  const { statusCode, headers } = await ask('alice')
  assert.deepEqual([statusCode, headers['retry-after']], [429, '60'])
})

test('a burst allows more requests once', async (t) => {
  const { ask, statuses } = await limited(t, [{ by: 'caller', rate: '2/1s', burst: 3 }])
  assert.equal(passes(await statuses(9, 'alice')), 5)
  await setTimeout(1_000)
  assert.equal(passes(await statuses(9, 'alice')), 2)
  assert.equal((await ask('alice')).headers['retry-after'], '1')
})

test('requests without good credentials count for their address alone', async (t) => {
  const { statuses } = await limited(t, [
    { by: 'caller', rate: '1/1m' },
    { by: 'address', rate: '3/1m' },
  ])

  assert.deepEqual(await statuses(4), [401, 401, 401, 429])
  assert.deepEqual(await statuses(2, 'alice'), [429, 429])
  assert.deepEqual(
    await statuses(2, 'alice', '192.0.2.9'),
    [200, 429],
    'what was refused did not count for alice',
  )
})

test('in anonymous mode callers are addresses', async (t) => {
  const limits = [{ by: 'caller', rate: '2/1m' }]
  const app = await booted(t, [
    routes,
    { use: 'auth/anonymous' },
    { use: 'limit/requests', with: { limits } },
  ])
  const ask = async (remoteAddress: string) => (await app.inject({ url: '/', remoteAddress })).statusCode

  assert.deepEqual(
    [await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.1'), await ask('192.0.2.2')],
    [200, 200, 429, 200],
  )
  const customer = ['2001:db8::1', '2001:db8:0:0:ffff::2', '2001:db8::3', '2001:db8:0:1::1']
  const statuses: number[] = []
  for (const address of customer) statuses.push(await ask(address))
  assert.deepEqual(statuses, [200, 200, 429, 200], 'the first 64 bits of IPv6 are one')
})

test('options without a meaning are refused, each with the expected form', async (t) => {
  const refused = (limits: readonly object[], message: RegExp) =>
    assert.rejects(booted(t, listWith({ limits })), { code: 'CONFIG_INVALID', message })

  await refused([{ by: 'nobody', rate: '1/1s' }], /expected caller, address, tool or caller\+tool/)
  for (const rate of [
    '0/1m',
    '1',
    '1/',
    '1/0',
    '1/1500ms',
    '1/25h',
    '-1/1m',
    '1.5/1m',
    '1/m',
    '99999999999/1s',
    100,
    '',
  ])
    await refused([{ by: 'caller', rate }], /expected a rate such as 100\/1m/)
  await refused([{ by: 'caller', rate: '1/1m', burst: 0 }], /burst/)
  await refused([{ by: 'caller', rate: '1/1m', tools: ['*'] }], /tools/)
  await refused([{ by: 'tool', rate: '1/1m', tools: ['tool:export_*'] }], /the name of a tool alone/)
  await refused([], /limits/)
  const twice = [
    { by: 'caller', rate: '1/1m' },
    { by: 'caller', rate: '2/60s' },
  ]
  await refused(twice, /the same `by`, span and tools/)
  await assert.rejects(
    booted(t, listWith({ limits: twice.slice(1), redis: 'http://a:p4ssw0rd@b' })),
    (error: Error) => {
      assert.match(error.message, /redis:\/\//)
      assert.doesNotMatch(error.message, /p4ssw0rd/)
      return true
    },
  )
})
