import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Resolve } from 'sallyport/toolkit'
import { failsWith, fetching, resolveToLoopback } from '#kit/egress.js'
import { freePort } from '#kit/free-port.js'
import { listening } from '#kit/listening.js'
import { authority, tlsListening } from '#kit/tls.js'

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
    resolve: resolveToLoopback,
    caFile: ours.file,
  })

  await failsWith('EGRESS_DNS', fetching(t, { resolve: missing }).fetch('https://provider.test/'))
  await failsWith(
    'EGRESS_DNS',
    fetching(t, { resolve: async () => [], allowPrivate: true }).fetch('https://provider.test/'),
  )
  await failsWith('EGRESS_REFUSED', here.fetch(`https://127.0.0.1:${await freePort()}/`))
  await failsWith('EGRESS_RESET', here.fetch(`https://provider.test:${port}/`))
})

const here = { allowPrivate: true, resolve: resolveToLoopback }

test('an unknown authority is a TLS error that names the setting, without the path and query', async (t) => {
  const ours = authority(t)
  const theirs = authority(t)
  const port = await tlsListening(t, theirs.issue(['provider.test']), (_request, response) => response.end())
  const url = `https://provider.test:${port}/keys?token=canary`

  const withOther = await failsWith('EGRESS_TLS', fetching(t, { ...here, caFile: ours.file }).fetch(url))
  const withNone = await failsWith('EGRESS_TLS', fetching(t, here).fetch(url))

  for (const { message } of [withOther, withNone]) {
    assert.match(message, /caCertPath/)
    assert.ok(message.includes(`https://provider.test:${port} `))
    assert.doesNotMatch(message, /keys|canary/)
  }
})

test('an expired certificate and one for another name have messages of their own', async (t) => {
  const ours = authority(t)
  const expired = await tlsListening(t, ours.issue(['provider.test'], -1), (_request, response) =>
    response.end(),
  )
  const foreign = await tlsListening(t, ours.issue(['other.test']), (_request, response) => response.end())
  const { fetch } = fetching(t, { ...here, caFile: ours.file })

  const first = await failsWith('EGRESS_TLS', fetch(`https://provider.test:${expired}/`))
  const second = await failsWith('EGRESS_TLS', fetch(`https://provider.test:${foreign}/`))

  assert.match(first.message, /expired/)
  assert.match(second.message, /another host name/)
})

test('a server that does not speak TLS is a TLS error', async (t) => {
  const origin = await listening(t, (_request, response) => response.end())

  await failsWith('EGRESS_TLS', fetching(t, here).fetch(origin.replace('http:', 'https:')))
})

test('T10: a header that cannot be sent is not repeated in the error', async (t) => {
  const { fetch } = fetching(t, here)

  const error = await failsWith(
    'EGRESS_FAILED',
    fetch('http://127.0.0.1:1/', {
      headers: { authorization: 'Bearer canary\n' + 'x\r\n' },
    }),
  )

  assert.doesNotMatch(`${error.message}${String(error.cause)}`, /canary/)
})
