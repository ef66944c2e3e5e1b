import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { createServer } from 'node:https'
import { test } from 'node:test'
import { clientThumbprint } from 'sallyport/toolkit'
import { serving } from '#kit/booted.js'
import { opened } from '#kit/listening.js'
import { listen, plugin } from '#kit/plugin.js'
import { requestRaw } from '#kit/raw.js'
import { authority, secureListener } from '#kit/tls.js'

const tell = plugin('tell', ({ http, dispatch }) => {
  const route = { config: { public: true } }
  http.get('/', route, ({ raw }) => clientThumbprint(raw) ?? 'none')
  http.get('/inside', route, async () => (await dispatch('/')).body)
})

test('the thumbprint is that of the certificate on the connection, and of nothing else', async (t) => {
  const callers = authority(t)
  const listen = secureListener(t, callers, { tls: { clientCa: callers.file } })
  const { main = '' } = (await serving(t, [listen, tell])).addresses
  const certificate = callers.issue(['caller.test'])
  const { fingerprint256 } = new X509Certificate(certificate.cert)
  const expected = Buffer.from(fingerprint256.replaceAll(':', ''), 'hex').toString('base64url')

  assert.equal((await requestRaw(main, 'GET /', undefined, certificate)).body, expected)
  const told = ['Host: gateway', `X-SSL-Client-Cert: ${expected}`, `Client-Cert: :${expected}:`]
  assert.equal((await requestRaw(main, 'GET /', told)).body, 'none')
  assert.equal((await requestRaw(main, 'GET /inside', undefined, certificate)).body, 'none')
})

test('there is no thumbprint where the gateway requests no certificate, and on plain http', async (t) => {
  const plain = await serving(t, [listen, tell])
  assert.equal((await requestRaw(plain.addresses.main ?? '', 'GET /')).body, 'none')

  const ours = authority(t)
  const secure = await serving(t, [secureListener(t, ours), tell])
  const { main = '' } = secure.addresses
  assert.equal((await requestRaw(main, 'GET /', undefined, ours.issue(['caller.test']))).body, 'none')
})

test('a certificate that was not verified has no thumbprint, whatever server accepted it', async (t) => {
  const [ours, theirs] = [authority(t), authority(t)]
  const own = ours.issue(['127.0.0.1'])
  const lenient = { ...own, ca: ours.certificate, requestCert: true, rejectUnauthorized: false }
  const server = createServer(lenient, (request, response) =>
    response.end(clientThumbprint(request) ?? 'none'),
  )
  const { port } = await opened(t, server)
  const url = `https://127.0.0.1:${port}`

  assert.equal((await requestRaw(url, 'GET /', undefined, theirs.issue(['caller.test']))).body, 'none')
  assert.notEqual((await requestRaw(url, 'GET /', undefined, ours.issue(['caller.test']))).body, 'none')
})
