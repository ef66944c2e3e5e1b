import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createRemoteJWKSet,
  exportJWK,
  generateKeyPair,
  customFetch as joseFetch,
  jwtVerify,
  SignJWT,
} from 'jose'
import {
  allowInsecureRequests,
  ClientSecretBasic,
  discoveryRequest,
  introspectionRequest,
  customFetch as oauthFetch,
  processDiscoveryResponse,
  processIntrospectionResponse,
} from 'oauth4webapi'
import { eventually } from '#kit/captured-log.js'
import { fetching, tcpListening } from '#kit/egress.js'
import { listening } from '#kit/listening.js'

const here = { allowPrivate: true }

test('an aborted fetch rejects with the reason of the abort', async (t) => {
  const hole = await tcpListening(t)
  const { fetch } = fetching(t, here)
  const reason = new Error('the caller left')
  const controller = new AbortController()

  const running = fetch(`http://127.0.0.1:${hole.port}/`, {
    signal: controller.signal,
  })
  await eventually(() => (hole.hits > 0 ? true : undefined))
  controller.abort(reason)

  await assert.rejects(running, (error) => error === reason)
  await assert.rejects(
    fetch('https://provider.test/', { signal: AbortSignal.abort(reason) }),
    (error) => error === reason,
  )
})

test('jose accepts the fetcher', async (t) => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = JSON.stringify({ keys: [await exportJWK(publicKey)] })
  const origin = await listening(t, (_request, response) => response.end(keys))
  const token = await new SignJWT({ sub: 'me' }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
  const { fetch } = fetching(t, { allowPrivate: true })

  const found = await jwtVerify(token, createRemoteJWKSet(new URL(origin), { [joseFetch]: fetch }))

  assert.equal(found.payload.sub, 'me')
})

test('oauth4webapi accepts the fetcher, forms included', async (t) => {
  const bodies: string[] = []
  const origin = await listening(t, (request, response) => {
    const metadata = { issuer: origin, introspection_endpoint: `${origin}/introspect` }
    const answer = request.url === '/introspect' ? { active: true } : metadata
    response.setHeader('content-type', 'application/json')
    request
      .on('data', (chunk) => bodies.push(String(chunk)))
      .on('end', () => response.end(JSON.stringify(answer)))
  })
  const { fetch } = fetching(t, { allowPrivate: true })
  const options = { [oauthFetch]: fetch, [allowInsecureRequests]: true }
  const client = { client_id: 'gateway' }

  const server = await processDiscoveryResponse(
    new URL(origin),
    await discoveryRequest(new URL(origin), options),
  )
  const asked = await introspectionRequest(server, client, ClientSecretBasic('mine'), 'opaque', options)

  assert.equal((await processIntrospectionResponse(server, client, asked)).active, true)
  assert.deepEqual(bodies, ['token=opaque'])
})
