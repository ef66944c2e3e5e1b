import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { test } from 'node:test'
import { ConfigError, GatewayError, PublicAddress } from 'sallyport'
import { ask } from '#kit/ask.js'
import { serving } from '#kit/booted.js'
import { deferred } from '#kit/deferred.js'
import { closedPort } from '#kit/listening.js'
import { closed, listen, plugin, providing } from '#kit/plugin.js'
import { slowRoute } from './slow-route.js'

const word = (text: string) =>
  plugin('word', ({ http }) => http.get('/', { config: { public: true } }, () => text))

test('a reload under load fails no request', async (t) => {
  const running = await serving(t, [listen, word('old')])
  const url = running.addresses.main ?? ''
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  t.after(() => agent.destroy())
  const seen = new Map<string, number>()
  let exchanged = false

  const caller = async (): Promise<void> => {
    let afterwards = 0
    while (afterwards < 50) {
      const { statusCode, text } = await ask(url, agent)
      assert.equal(statusCode, 200)
      seen.set(text, (seen.get(text) ?? 0) + 1)
      if (exchanged) afterwards++
    }
  }
  const callers = Promise.all(Array.from({ length: 8 }, caller))
  for (let round = 0; round < 20; round++) await running.swap([listen, word(`list ${round}`)])
  exchanged = true
  await callers

  assert.equal(running.addresses.main, url)
  assert.ok((seen.get('list 19') ?? 0) >= 8 * 49, `the last list answered ${seen.get('list 19')}`)
})

test('a list that cannot boot, or cannot open its ports, changes nothing', async (t) => {
  const running = await serving(t, [listen, word('old')])
  const other = await serving(t, [listen, word('other')])
  const taken = { ...listen, id: 'second', with: { address: new URL(other.addresses.main ?? '').host } }
  const broken = plugin('broken', () => {
    throw new Error('no')
  })
  let opened = ''
  const late = plugin('late', (gateway) =>
    gateway.onReady(({ internal }) => {
      opened = internal ?? ''
      throw new Error('no')
    }),
  )
  let stopped = 0
  const noted = plugin('noted', (gateway) => gateway.onStop(() => void stopped++))
  const internal = { use: 'internal/server', with: { address: '127.0.0.1:0' } }
  const { addresses } = running

  await assert.rejects(running.swap([listen, broken]), GatewayError)
  await assert.rejects(running.swap([listen, { use: 'no-such-plugin' }]), ConfigError)
  const free = await closedPort()
  const before = { use: 'internal/server', with: { address: new URL(free).host } }
  await assert.rejects(running.swap([listen, before, taken, word('new'), noted]), /the port is in use/)
  await assert.rejects(ask(free), { code: 'ECONNREFUSED' })
  await assert.rejects(running.swap([listen, internal, word('new'), noted, late]), /"late" failed in ready/)
  assert.deepEqual([stopped, running.addresses], [2, addresses])
  await assert.rejects(ask(opened), { code: 'ECONNREFUSED' })

  assert.equal((await ask(running.addresses.main ?? '')).text, 'old')
})

test('a request in flight at a reload gets its response from the old list', async (t) => {
  const { entry, arrival, finish } = slowRoute()
  const running = await serving(t, [listen, word('old'), entry])
  const url = running.addresses.main ?? ''

  const waiting = ask(`${url}/slow`)
  await arrival
  const swapped = running.swap([listen, word('new')])
  const deadline = Date.now() + 5_000
  while ((await ask(url)).text !== 'new') assert.ok(Date.now() < deadline)
  finish('from the old list')

  assert.equal((await waiting).text, 'from the old list')
  await swapped
})

test('a stop aborts a reload that is still booting, and accepts no new requests from then on', async (t) => {
  const running = await serving(t, [listen, closed])
  const url = running.addresses.main ?? ''
  const { promise: arrival, resolve: arrived } = deferred()
  const hanging = plugin('hanging', (gateway) =>
    gateway.onStart(() => {
      arrived()
      return new Promise(() => {})
    }),
  )
  const exchanged = assert.rejects(running.swap([listen, hanging]))
  await arrival
  const began = Date.now()
  const stopped = running.stop()
  await assert.rejects(fetch(url))
  await stopped
  await exchanged
  assert.ok(Date.now() - began < 5_000)
})

test('a stop while a reload moves to another port closes the old port too, at once', async (t) => {
  const { entry, arrival, finish } = slowRoute()
  const running = await serving(t, [listen, word('old'), entry])
  const url = running.addresses.main ?? ''
  const slow = ask(`${url}/slow`)
  await arrival
  let stopped: Promise<void> | undefined
  const stops = plugin('stops', (gateway) =>
    gateway.onReady(() => {
      stopped = running.stop(undefined, 0)
    }),
  )
  const other = { use: 'listen/http', with: { address: '127.0.0.2:0' } }

  await assert.rejects(running.swap([other, word('new'), stops]), /the gateway was stopped/)
  await assert.rejects(fetch(url))
  finish('in its time')
  assert.equal((await slow).text, 'in its time')
  await stopped
})

test('a reload that a stop interrupts while it opens its ports fails with that reason', async (t) => {
  const running = await serving(t, [listen, closed])
  let stopped: Promise<void> | undefined
  const stops = plugin('stops', (gateway) =>
    gateway.onStart(() => {
      setImmediate(() => {
        stopped = running.stop(0, 0)
      })
    }),
  )
  // A name, which takes longer to look up.
  const internal = { use: 'internal/server', with: { address: 'localhost:0' } }

  await assert.rejects(running.swap([listen, internal, stops]), /the gateway was stopped/)
  await stopped
  assert.deepEqual(running.addresses, {})
})

test('two entries that open the same address are a ConfigError', async () => {
  const twice = [listen, { ...listen, id: 'again' }]
  await assert.rejects(serving({ after() {} } as never, twice), /two entries of the list open this address/)
})

test('the main and the internal port at one address are a ConfigError that names the cause', async (t) => {
  const { port } = new URL(await closedPort())
  const at = (use: string, host: string) => ({ use, with: { address: `${host}:${port}` } })

  for (const host of ['127.0.0.1', '127.1']) {
    const both = [at('listen/http', '127.0.0.1'), at('internal/server', host)]
    await assert.rejects(serving(t, both), /two entries of the list open this address/)
  }
})

test('with several main ports the address is that of the first', async (t) => {
  const { origin } = new URL(await closedPort())
  const first = { use: 'listen/http', id: 'first', with: { address: origin.slice('http://'.length) } }

  const running = await serving(t, [first, listen, closed])

  assert.equal(new URL(running.addresses.main ?? '').origin, origin)
})

test('the addresses include the public address, once it is known', async (t) => {
  let origin: string | undefined
  const address = providing('address', PublicAddress, {
    get origin() {
      return origin
    },
    watch: () => {},
  })
  const running = await serving(t, [listen, address])

  assert.equal('public' in running.addresses, false)
  origin = 'https://a.example'
  assert.equal(running.addresses.public, 'https://a.example')
})
