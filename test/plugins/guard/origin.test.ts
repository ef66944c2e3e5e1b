import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PublicAddress } from 'sallyport'
import { booted, contractSuite, recordedLog, serving } from 'sallyport/testing'
import { listen, plugin, providing } from '#kit/plugin.js'
import { requestRaw } from '#kit/raw.js'

contractSuite('guard/origin', () => ({
  list: [{ use: 'guard/origin', with: { allowed: ['https://app.example'], loopback: true } }],
}))

const open = plugin('open', ({ http }) => http.get('/', { config: { public: true } }, () => 'open'))

test('a listed origin is accepted, and so is a request without `Origin`; every other is refused (RS-32)', async (t) => {
  const app = await booted(t, [{ use: 'guard/origin', with: { allowed: ['https://app.example'] } }, open])
  const status = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/', headers })).statusCode

  assert.equal(await status({}), 200)
  assert.equal(await status({ origin: 'https://app.example' }), 200)
  for (const origin of [
    'http://app.example',
    'https://app.example/',
    'https://APP.example',
    'https://app.example:444',
    'https://app.example, https://evil.example',
    'https://app.example.evil',
    'null',
    '',
  ]) {
    assert.equal(await status({ origin }), 403, origin)
  }
})

test('an origin that no browser sends stops the start, and the message names the one that browsers send', async (t) => {
  const cases = [
    ['https://App.example', 'https://app.example'],
    ['HTTPS://app.example', 'https://app.example'],
    ['https://app.example:443', 'https://app.example'],
    ['http://app.example:80', 'http://app.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['http://127.1', 'http://127.0.0.1'],
  ] as const
  for (const [written, sent] of cases) {
    await assert.rejects(booted(t, [{ use: 'guard/origin', with: { allowed: [written] } }]), (error: Error) =>
      error.message.endsWith(`browsers send ${sent}`),
    )
  }
  const good = [
    'https://app.example:444',
    'http://[::1]:8080',
    'vscode-webview://1Ab',
    ...cases.map(([, sent]) => sent),
  ]
  await booted(t, [{ use: 'guard/origin', with: { allowed: good } }])
})

test('`null` in the list stops the start, since any page can send it', async (t) => {
  for (const written of ['null', 'NULL'])
    await assert.rejects(booted(t, [{ use: 'guard/origin', with: { allowed: [written] } }]), {
      code: 'CONFIG_INVALID',
    })
})

test('two Origin headers are refused, also when both are listed', async (t) => {
  const guard = { use: 'guard/origin', with: { allowed: ['https://app.example'] } }
  const { main = '' } = (await serving(t, [guard, open, listen])).addresses
  const origin = 'Origin: https://app.example'

  assert.equal((await requestRaw(main, 'GET /', ['Host: a', origin])).status, 200)
  assert.equal((await requestRaw(main, 'GET /', ['Host: a', origin, origin])).status, 403)
})

test('a page of this machine is accepted with the port of the gateway', async (t) => {
  const { main = '' } = (await serving(t, [{ use: 'guard/origin', with: { loopback: true } }, open, listen]))
    .addresses
  const { port } = new URL(main)
  const status = async (origin: string) =>
    (await requestRaw(main, 'GET /', ['Host: a', `Origin: ${origin}`])).status

  for (const name of ['localhost', '127.0.0.1', '[::1]']) {
    assert.equal(await status(`http://${name}:${port}`), 200)
    assert.equal(await status(`https://${name}:${port}`), 200)
    assert.equal(await status(`http://${name}:1`), 403)
  }
})

test('a page of the public address is accepted only with `public`', async (t) => {
  const tunnel = providing('tunnel', PublicAddress, {
    origin: undefined,
    watch: (watcher) => watcher('https://b.example'),
  })
  for (const [isPublic, expected] of [
    [true, 200],
    [false, 403],
  ] as const) {
    const app = await booted(t, [{ use: 'guard/origin', with: { public: isPublic } }, tunnel, open])
    const { statusCode } = await app.inject({ url: '/', headers: { origin: 'https://b.example' } })
    assert.equal(statusCode, expected)
  }
})

test('any page can read a route for any origin, but not on loopback', async (t) => {
  const config = { public: true, anyOrigin: true }
  const metadata = plugin('metadata', ({ http }) => http.get('/', { config }, () => 'open'))
  for (const [loopback, expected] of [
    [false, 200],
    [true, 403],
  ] as const) {
    const app = await booted(t, [{ use: 'guard/origin', with: { loopback } }, metadata])
    const { statusCode } = await app.inject({ url: '/', headers: { origin: 'https://evil.example' } })
    assert.equal(statusCode, expected)
  }
})

test('`any` accepts every origin, and logs a warning', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: 'guard/origin', with: { any: true } }, open], { log })

  assert.equal((await app.inject({ url: '/', headers: { origin: 'https://evil.example' } })).statusCode, 200)
  assert.equal(lines.filter(({ level, plugin }) => level === 'warn' && plugin === 'guard/origin').length, 1)
})

test('the log shows the refused origin, or the beginning of a long one; the response does not show it', async (t) => {
  const { log, lines } = recordedLog()
  const app = await booted(t, [{ use: 'guard/origin' }, open], { log })

  const origin = 'http://localhost:6274'
  const responses = []
  for (const sent of [origin, origin.padEnd(2_000, 'x')])
    responses.push(await app.inject({ url: '/', headers: { origin: sent } }))

  for (const { body } of responses) assert.ok(!body.includes(origin))
  const refused = lines.filter(({ msg }) => msg === 'refused')
  const reason = { provider: 'gate', cause: 'origin_forbidden' }
  assert.deepEqual(
    refused.map(({ reasons }) => reasons),
    [[{ ...reason, detail: origin }], [{ ...reason, detail: origin.padEnd(300, 'x') }]],
  )
})
