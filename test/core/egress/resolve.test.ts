import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resolve } from 'sallyport/toolkit'
import { failsWith, fetching, tcpListening } from '#kit/egress.js'
import { listening } from '#kit/listening.js'

// Public addresses that are not assigned: nothing responds there.
const nowhere = { address: '3ffe::1', family: 6 }

const loopback = { address: '127.0.0.1', family: 4 }

test('RS-23 T2: a private address is refused in every notation', async (t) => {
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

test('T2: for a name with public and private addresses only the public ones are tried', async (t) => {
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

test('T2: DNS rebinding from a public to a private address has no effect', async (t) => {
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

test('a private address is reached when private addresses are allowed, by address and by name', async (t) => {
  const origin = await listening(t, (_request, response) => response.end('here'))
  const { fetch } = fetching(t, { allowPrivate: true })

  assert.equal(await (await fetch(`${origin}/`)).text(), 'here')
  assert.equal(await (await fetch(origin.replace('127.0.0.1', 'localhost'))).text(), 'here')
})
