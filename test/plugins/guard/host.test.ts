import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PublicAddress } from 'sallyport'
import { booted, contractSuite, recordedLog, serving } from 'sallyport/testing'
import { listen, plugin, providing } from '#kit/plugin.js'
import { requestRaw } from '#kit/raw.js'

contractSuite('guard/host', () => ({
  list: [{ use: 'guard/host', with: { allowed: ['registry.example'], loopback: true } }],
}))

const open = plugin('open', ({ http }) => http.get('/', { config: { public: true } }, () => 'open'))

test('a listed host is accepted, in any case, and no other (T7)', async (t) => {
  const app = await booted(t, [{ use: 'guard/host', with: { allowed: ['Registry.example'] } }, open])
  const status = async (host: string) => (await app.inject({ url: '/', headers: { host } })).statusCode

  for (const host of ['registry.example', 'REGISTRY.EXAMPLE']) assert.equal(await status(host), 200, host)
  for (const host of ['registry.example:80', 'registry.example.evil', 'evil', 'localhost', '127.0.0.1']) {
    assert.equal(await status(host), 403, host)
  }
})

test('the loopback names are accepted with the port of the gateway, and with no other', async (t) => {
  const running = await serving(t, [{ use: 'guard/host', with: { loopback: true } }, open, listen])
  const { main = '' } = running.addresses
  const { port } = new URL(main)
  const status = async (host: string) => (await requestRaw(main, 'GET /', [`Host: ${host}`])).status

  for (const name of ['localhost', '127.0.0.1', '[::1]']) {
    assert.equal(await status(`${name}:${port}`), 200, name)
    assert.equal(await status(`${name}:1`), 403, name)
    assert.equal(await status(name), 403, name)
  }
})

test('another host in the request target is refused (T13)', async (t) => {
  const running = await serving(t, [{ use: 'guard/host', with: { allowed: ['a'] } }, open, listen])
  const { main = '' } = running.addresses
  const status = async (target: string, host: string) =>
    (await requestRaw(main, `GET ${target}`, [`Host: ${host}`])).status

  assert.equal(await status('/', 'a'), 200)
  assert.equal(await status('http://a/', 'a'), 200)
  assert.equal(await status('HTTP://A/', 'a'), 200)
  assert.equal(await status('http://evil/', 'a'), 403)
  assert.equal(await status('http://a/', 'evil'), 403)
})

test('only the current public address is accepted', async (t) => {
  let announce: (origin: string) => void = () => {}
  const tunnel = providing('tunnel', PublicAddress, {
    origin: undefined,
    watch: (watcher) => {
      announce = watcher
    },
  })
  const list = [{ use: 'guard/host', with: { allowed: ['a.example'], public: true } }, tunnel, open]
  const app = await booted(t, list)
  const statuses = async () =>
    Promise.all(
      ['a.example', 'b.example', 'c.example'].map(
        async (host) => (await app.inject({ url: '/', headers: { host } })).statusCode,
      ),
    )

  assert.deepEqual(await statuses(), [200, 403, 403])
  announce('https://b.example')
  assert.deepEqual(await statuses(), [200, 200, 403])
  announce('https://c.example')
  assert.deepEqual(await statuses(), [200, 403, 200])
  // A configured host stays allowed after it was the public address.
  announce('https://a.example')
  announce('https://b.example')
  assert.deepEqual(await statuses(), [200, 200, 403])
})

test('an entry that cannot be a `Host` stops the start', async (t) => {
  for (const host of [
    '',
    'https://registry.example',
    'registry.example/',
    '*.example',
    'a.example b.example',
  ])
    await assert.rejects(
      booted(t, [{ use: 'guard/host', with: { allowed: [host] } }, open]),
      /expected one host/,
    )
})

test('the log shows the refused host, or the beginning of a long one; the response does not show it', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: 'guard/host' }, open], { log })

  const host = 'host.docker.internal:8080'
  const responses = []
  for (const sent of [host, host.padStart(2_000, 'x')])
    responses.push(await app.inject({ url: '/', headers: { host: sent } }))

  for (const { body } of responses) assert.ok(!body.includes(host))
  const refused = lines.filter(({ msg }) => msg === 'refused')
  const reason = { provider: 'gate', cause: 'host_forbidden' }
  assert.deepEqual(
    refused.map(({ reasons }) => reasons),
    [[{ ...reason, detail: host }], [{ ...reason, detail: 'x'.repeat(300) }]],
  )
})
