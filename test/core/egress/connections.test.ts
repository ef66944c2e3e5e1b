import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { connectProxy } from '#kit/connect-proxy.js'
import { failsWith, fetching, tcpListening } from '#kit/egress.js'
import { listening } from '#kit/listening.js'
import { authority, tlsListening } from '#kit/tls.js'

const here = { allowPrivate: true }

test('`close` ends requests in flight and leaves no socket open, and later requests fail', async (t) => {
  const hole = await tcpListening(t)
  const origin = await listening(t, (_request, response) => response.end('kept alive'))
  const fetcher = fetching(t, { ...here, timeout: 60_000 })
  await fetcher.fetch(origin)
  const running = [
    failsWith('EGRESS_CLOSED', fetcher.fetch(`http://127.0.0.1:${hole.port}/`)),
    failsWith('EGRESS_CLOSED', fetcher.fetch(`https://127.0.0.1:${hole.port}/`)),
  ]
  await eventually(() => (hole.open === 2 ? true : undefined))

  await fetcher.close()

  await Promise.all(running)
  await eventually(() => (hole.open === 0 ? true : undefined))
  await failsWith('EGRESS_CLOSED', fetcher.fetch(origin))
})

test('HTTPS_PROXY is used although its address is private, and the certificate of the server is verified', async (t) => {
  const ours = authority(t)
  const port = await tlsListening(t, ours.issue(['provider.test']), (_request, response) =>
    response.end('through'),
  )
  const proxy = await connectProxy(t, { to: port })
  const environment = { HTTPS_PROXY: proxy.url }
  const trusting = fetching(t, { environment, caFile: ours.file })

  const response = await trusting.fetch('https://provider.test/keys?token=canary')

  assert.equal(await response.text(), 'through')
  assert.deepEqual(proxy.asked, ['provider.test:443'])
  await failsWith('EGRESS_TLS', fetching(t, { environment }).fetch('https://provider.test/'))
  await failsWith('EGRESS_TLS', trusting.fetch('https://other.test/'))
})
