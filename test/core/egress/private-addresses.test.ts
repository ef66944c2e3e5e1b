import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resolve } from 'sallyport'
import { closedPort, failsWith, fetching, hereForAll, tcpListening } from '../../kit/egress.js'
import { listening } from '../../kit/listening.js'
import { authority, tlsListening } from '../../kit/tls.js'

// Public for the judgement, and given to nobody: nothing answers there.
const nowhere = { address: '3ffe::1', family: 6 }
const loopback = { address: '127.0.0.1', family: 4 }

test('RS-23 T2: no spelling of a private address reaches it', async (t) => {
  const canary = await tcpListening(t)
  const { fetch } = fetching(t)
  const hosts = [
    ...['127.0.0.1', '127.0.0.1.', '2130706433', '0x7f.1', '0177.0.0.1', '127.1', '0', '0.0.0.0'],
    ...[
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[64:ff9b::7f00:1]',
      '[64:ff9b::127.0.0.1]',
    ],
    ...[
      '[2002:7f00:1::]',
      '[::127.0.0.1]',
      '169.254.169.254',
      '[fd00:ec2::254]',
      '10.0.0.1',
      '%31%32%37.0.0.1',
    ],
    ...['localhost', 'LOCALHOST.', 'any.localhost', '①②⑦.0.0.1'],
  ]

  for (const host of hosts) {
    for (const scheme of ['http', 'https']) {
      await failsWith('EGRESS_PRIVATE_ADDRESS', fetch(`${scheme}://${host}:${canary.port}/`))
    }
  }
  assert.equal(canary.hits, 0)
})

test('RS-23 T2: a name that resolves to a private address is refused before anything is sent', async (t) => {
  const canary = await tcpListening(t)
  const answers = ['127.0.0.1', '10.0.0.1', '169.254.169.254']
  const embedded = ['::ffff:127.0.0.1', '64:ff9b::7f00:1', '::1', 'fd00::1']

  for (const [family, addresses] of [
    [4, answers],
    [6, embedded],
  ] as const) {
    for (const address of addresses) {
      const { fetch } = fetching(t, {
        resolve: async () => [{ address, family }],
      })
      const { message } = await failsWith(
        'EGRESS_PRIVATE_ADDRESS',
        fetch(`https://provider.test:${canary.port}/`),
      )
      assert.ok(!message.includes(address))
    }
  }
  assert.equal(canary.hits, 0)
})

test('T2: of a name with public and private addresses only the public ones are tried', async (t) => {
  const canary = await tcpListening(t)
  const { fetch } = fetching(t, {
    resolve: async () => [loopback, nowhere],
    timeout: 500,
  })

  const error = await fetch(`https://provider.test:${canary.port}/`).catch((reason: unknown) => reason)

  assert.ok(error instanceof Error)
  assert.notEqual('code' in error && error.code, 'EGRESS_PRIVATE_ADDRESS')
  assert.equal(canary.hits, 0)
})

test('T2: a resolver that says public first and private then gains nothing', async (t) => {
  const canary = await tcpListening(t)
  const answers = [[nowhere], [loopback], [loopback]]
  const resolve: Resolve = async () => answers.shift() ?? []
  const { fetch } = fetching(t, { resolve, timeout: 500 })
  const url = `https://provider.test:${canary.port}/`

  await assert.rejects(fetch(url))
  await failsWith('EGRESS_PRIVATE_ADDRESS', fetch(url))
  await failsWith('EGRESS_PRIVATE_ADDRESS', fetch(url))

  assert.equal(canary.hits, 0)
})

test('a private address is reached when that is allowed, by address and by name', async (t) => {
  const origin = await listening(t, (_request, response) => response.end('here'))
  const { fetch } = fetching(t, { allowPrivate: true })

  assert.equal(await (await fetch(`${origin}/`)).text(), 'here')
  assert.equal(await (await fetch(origin.replace('127.0.0.1', 'localhost'))).text(), 'here')
})

test('RS-23: plain http is for loopback only, unless the operator insists, and then there is a warning', async (t) => {
  const origin = await listening(t, (_request, response) => response.end('plain'))
  const named = origin.replace('127.0.0.1', 'provider.test')
  const warnings: unknown[] = []
  const log = {
    info() {},
    warn: (...line: readonly unknown[]) => void warnings.push(line),
  }
  const strict = fetching(t, { allowPrivate: true, resolve: hereForAll, log })
  const lax = fetching(t, {
    allowPrivate: true,
    allowInsecureHttp: true,
    resolve: hereForAll,
    log,
  })

  await failsWith('EGRESS_INSECURE', strict.fetch(named))
  assert.equal((await strict.fetch(origin)).status, 200)
  assert.equal(warnings.length, 0)
  assert.equal((await lax.fetch(named)).status, 200)
  assert.equal((await lax.fetch(named)).status, 200)
  assert.equal(warnings.length, 1)
})

test('a URL that is none, of another scheme or with a password is refused, and not repeated', async (t) => {
  const { fetch } = fetching(t, { allowPrivate: true })
  const urls = [
    'canary',
    'file:///canary',
    'javascript:canary',
    'https://user:canary@provider.test/',
    'https://a b/canary',
  ]

  for (const url of urls) {
    const error = await failsWith('EGRESS_URL_INVALID', fetch(url))
    assert.doesNotMatch(`${error.message}${String(error.cause)}`, /canary/)
  }
})

test('a name that does not resolve and a port where nothing listens have their own codes', async (t) => {
  const missing: Resolve = async () => {
    throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  }
  const ours = authority(t)
  const port = await tlsListening(t, ours.issue(['provider.test']), (_request, response) =>
    response.socket?.destroy(),
  )
  const here = fetching(t, {
    allowPrivate: true,
    resolve: hereForAll,
    caFile: ours.file,
  })

  await failsWith('EGRESS_DNS', fetching(t, { resolve: missing }).fetch('https://provider.test/'))
  await failsWith(
    'EGRESS_DNS',
    fetching(t, { resolve: async () => [], allowPrivate: true }).fetch('https://provider.test/'),
  )
  await failsWith('EGRESS_REFUSED', here.fetch(`https://127.0.0.1:${await closedPort()}/`))
  await failsWith('EGRESS_RESET', here.fetch(`https://provider.test:${port}/`))
})
