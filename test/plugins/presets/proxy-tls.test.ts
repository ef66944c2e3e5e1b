import assert from 'node:assert/strict'
import { request } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { listening } from '#kit/listening.js'
import { oidcSettings } from '#kit/oidc-settings.js'
import { requestRaw } from '#kit/raw.js'
import { authority } from '#kit/tls.js'

test('a proxy and a registry with TLS: discovery, hosts and origins of loopback are https, the internal port is not', async (t) => {
  const issuer = await issuing(t)
  const ours = authority(t)
  const { cert, key } = ours.issue(['localhost', '127.0.0.1'])
  const place = folder(t, { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ours.certificate })
  const tls = { cert: './tls.crt', key: './tls.key' }
  const seen: (string | undefined)[] = []
  const target = await listening(t, ({ headers }, response) => {
    seen.push(`${headers['x-forwarded-proto']} ${headers.forwarded?.replace(/.*;proto/, 'proto')}`)
    response.end('target')
  })
  const settings = ProxySettings.parse({
    tls: { ...tls, clientCa: './ca.crt' },
    ...{ name: 'x', targetUri: `${target}/mcp`, internalAddress: '127.0.0.1:0', forwardedHeaders: true },
    ...oidcSettings(issuer),
  })
  const running = await serving(t, proxy(settings), { folder: place })
  const { main = '', internal = '' } = running.addresses
  const { host, port } = new URL(main)
  assert.equal(main, `https://127.0.0.1:${port}`)
  assert.match(internal, /^http:/)
  assert.equal((await fetch(`${internal}/health`)).status, 200)

  const ca = ours.certificate
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    new Promise<{ status: number; challenge: string; body: string }>((resolve, reject) => {
      const url = new URL(path, `https://localhost:${port}`)
      request(url, { ca, headers, servername: 'localhost', agent: false }, (response) => {
        let body = ''
        response.on('data', (chunk) => {
          body += chunk
        })
        const challenge = String(response.headers['www-authenticate'])
        response.on('end', () => resolve({ status: response.statusCode ?? 0, challenge, body }))
      })
        .on('error', reject)
        .end()
    })
  const refused = await get('/mcp')
  assert.equal(refused.status, 401)
  const metadata = `https://${host}/.well-known/oauth-protected-resource/mcp`
  assert.ok(refused.challenge.includes(`resource_metadata="${metadata}"`), refused.challenge)
  const document = JSON.parse((await get('/.well-known/oauth-protected-resource/mcp')).body)
  assert.equal(document.resource, `https://${host}/mcp`)
  assert.equal(document.tls_client_certificate_bound_access_tokens, true, 'RS-26')

  const authorization = `Bearer ${await issuer.jwt()}`
  assert.equal((await get('/mcp', { authorization, origin: `https://localhost:${port}` })).status, 200)
  assert.equal((await get('/mcp', { authorization, origin: 'https://elsewhere.example' })).status, 403)
  assert.equal((await get('/mcp', { authorization, host: 'elsewhere.example' })).status, 403)
  assert.deepEqual(seen, ['https proto=https'])

  const anonymous = { address: '127.0.0.1:0', internalAddress: '127.0.0.1:0', auth: { mode: 'anonymous' } }
  const list = registry(RegistrySettings.parse({ ...anonymous, stateDirectory: null, tls }))
  const { addresses } = await serving(t, list, { folder: join(place) })
  const { host: own } = new URL(addresses.main ?? '')
  const path = '/registry/default/v0.1/servers'
  assert.equal((await requestRaw(addresses.main ?? '', `GET ${path}`, [`Host: ${own}`], { ca })).status, 200)
})
