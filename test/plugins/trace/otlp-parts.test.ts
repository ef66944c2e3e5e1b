import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { listening } from '#kit/listening.js'
import { realIssuer } from '#kit/oidc-provider.js'
import { exchange, granting, tokenEndpoint } from '../credential/exchanging.js'
import { startAuthorizationServer } from '../credential/oauth/authorization-server.js'
import { loginEntries, signInUser } from '../credential/oauth/proxy-with-login.js'
import { CLIENT, collector, type ExportedSpan, JSON_TYPE, SERVER, traced } from './collector.js'

const call = { method: 'POST', headers: JSON_TYPE, body: '{"id":7,"method":"ping"}' }

/** The parts of the one request, in the order of their beginnings. Asserts that they fit into the request. */
function partsOf(spans: readonly ExportedSpan[]): readonly (readonly [string, unknown])[] {
  const [request, ...others] = spans.filter(({ kind }) => kind === SERVER)
  assert.ok(request && others.length === 0, JSON.stringify(spans))
  const parts = spans
    .filter((span) => span !== request)
    .toSorted((left, right) => Number(BigInt(left.startTimeUnixNano) - BigInt(right.startTimeUnixNano)))
  let last = BigInt(request.startTimeUnixNano)
  for (const part of parts) {
    assert.deepEqual([part.traceId, part.parentSpanId], [request.traceId, request.spanId])
    // One after the other.
    assert.ok(BigInt(part.startTimeUnixNano) >= last, part.name)
    assert.ok(BigInt(part.endTimeUnixNano) >= BigInt(part.startTimeUnixNano), part.name)
    last = BigInt(part.endTimeUnixNano)
  }
  assert.ok(BigInt(request.endTimeUnixNano) >= last)
  return parts.map(({ name, attributes }) => [name, attributes['error.type']])
}

test('the verification of a token and its exchange are parts, each with its own times', async (t) => {
  const { url, spans } = await collector(t)
  const issuer = await realIssuer(t)
  const endpoint = await tokenEndpoint(t, granting({}))
  const target = await listening(t, (request, response) => {
    request.resume().on('end', () => response.end())
  })
  const { url: issuerUrl, audience } = issuer
  const verified = { issuerUrl, jwksUrl: `${issuerUrl}/jwks`, audience, allowPrivateIP: true }
  const { running, main } = await traced(t, { url }, target, [
    { use: 'auth/oidc', with: { name: 'real', ...verified } },
    exchange(endpoint.url),
  ])
  const headers = { ...JSON_TYPE, authorization: `Bearer ${await issuer.token()}` }
  assert.equal((await fetch(main, { ...call, headers })).status, 200)
  await running.stop(0)
  assert.deepEqual(partsOf(spans()), [
    ['verification', undefined],
    ['exchange', undefined],
    ['target', undefined],
  ])
})

/** Removes the verification, which is long enough to be a part on a busy machine only. */
const withoutVerification = (parts: ReturnType<typeof partsOf>) =>
  parts.filter(([name]) => name !== 'verification')

test('a login after a 401 is a part between two attempts, and the target has the id of each', async (t) => {
  const { url, spans } = await collector(t)
  const server = await startAuthorizationServer(t)
  signInUser(t)
  const { running, main } = await traced(t, { url }, server.target, loginEntries({ target: server.target }))
  assert.equal((await fetch(main, call)).status, 200)
  await running.stop(0)

  assert.deepEqual(withoutVerification(partsOf(spans())), [
    ['target', 'http_401'],
    ['login', undefined],
    ['target', undefined],
  ])
  const told = server.at('/mcp').map(({ headers }) => String(headers['traceparent']).split('-')[2])
  const targets = spans().filter(({ kind }) => kind === CLIENT)
  assert.deepEqual(
    targets.map(({ spanId }) => spanId),
    told.slice(-2),
  )
})

test('a redirect is an attempt of its own, which has not failed; both attempts send the same body', async (t) => {
  const { url, spans } = await collector(t)
  const seen: (readonly [parent: string, body: string])[] = []
  const target = await listening(t, (request, response) => {
    void text(request).then((body) => {
      seen.push([String(request.headers['traceparent']), body])
      response.writeHead(request.url === '/' ? 307 : 200, { location: '/moved' }).end()
    })
  })
  const { running, main } = await traced(t, { url, intoMeta: true }, target, [
    { use: 'credential/static-bearer', with: { token: 'k' } },
  ])
  assert.equal((await fetch(main, call)).status, 200)
  await running.stop(0)

  assert.deepEqual(withoutVerification(partsOf(spans())), [
    ['target', undefined],
    ['target', undefined],
  ])
  const targets = spans().filter(({ kind }) => kind === CLIENT)
  assert.deepEqual(
    seen.map(([parent]) => parent.split('-')[2]),
    targets.map(({ spanId }) => spanId),
  )
  assert.equal(seen[0]?.[1].includes(seen[0][0]), true)
  assert.equal(seen[1]?.[1], seen[0]?.[1])
})
