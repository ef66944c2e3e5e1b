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
import { fetching } from '../../kit/egress.js'
import { listening } from '../../kit/listening.js'

test('jose takes the fetcher as its own', async (t) => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = JSON.stringify({ keys: [await exportJWK(publicKey)] })
  const origin = await listening(t, (_request, response) => response.end(keys))
  const token = await new SignJWT({ sub: 'me' }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
  const { fetch } = fetching(t, { allowPrivate: true })

  const found = await jwtVerify(token, createRemoteJWKSet(new URL(origin), { [joseFetch]: fetch }))

  assert.equal(found.payload.sub, 'me')
})

test('oauth4webapi takes the fetcher as its own, forms included', async (t) => {
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
