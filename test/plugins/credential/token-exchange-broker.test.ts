import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import { CallerTokens, type Identity, Refusal } from 'sallyport'
import { isPromise } from 'sallyport/toolkit'
import type { RealIssuer } from '#kit/oidc-provider.js'
import { Person } from '#kit/person.js'
import { plugin } from '#kit/plugin.js'
import { runs } from '#kit/runs.js'
import { brokered, HandClient, identityOf, later } from '../issuer/brokered.js'
import { type Asked, bearers, exchange, granting, refusing, tokenEndpoint } from './exchanging.js'

const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'

interface Wanted {
  readonly options?: Readonly<Record<string, unknown>>
  readonly broker?: object
  readonly login?: object
}

/** A proxy with a broker, which exchanges what the provider gave at an endpoint that asks the provider whose token it is. */
async function exchangingBroker(t: TestContext, { options = {}, broker, login = {} }: Wanted = {}) {
  const found: { issuer?: RealIssuer; callerTokens?: () => CallerTokens } = {}
  const refused = new Set<string>()
  const endpoint = await tokenEndpoint(t, async (asked, response) => {
    const isRefused = refused.has(asked.form.get('subject_token') ?? '')
    const person = isRefused ? undefined : await personOf(asked, found.issuer?.url ?? '')
    const answer =
      person === undefined
        ? refusing(400, { error: 'invalid_grant' })
        : granting({ access_token: `for-${person}` })
    answer(asked, response)
  })
  const taking = plugin(
    'taking',
    (gateway) => {
      found.callerTokens = gateway.use(CallerTokens)
    },
    { requires: [CallerTokens] },
  )
  const gateway = await brokered(t, {
    login,
    broker: { accessToken: '4h', ...broker },
    plugins: [bearers, taking, exchange(endpoint.url, options)],
  })
  found.issuer = gateway.issuer
  const { url, target } = gateway
  /** The status of a call, and what the target got. */
  const call = async (token: unknown, name = 'somebody') => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'x-caller': name,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE }),
    })
    const { status, headers } = response
    await response.body?.cancel()
    return { status, headers }
  }
  const received = () =>
    target.asked.map(({ headers }) => [headers['x-caller'], headers['authorization']] as const)
  t.after(() => neverSent(gateway.origin, endpoint.asked))
  return { ...gateway, endpoint, refused, call, received, callerTokens: () => found.callerTokens?.() }
}

const NAMES = ['alice', 'bob'] as const

const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}

/** Whose token an exchange is asked for, as the provider says. */
async function personOf({ form }: Asked, issuer: string): Promise<string | undefined> {
  const token = form.get('subject_token') ?? ''
  if (form.get('subject_token_type') === ID_TOKEN) {
    const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`))
    return (await jwtVerify(token, keys, { issuer, audience: 'pages' })).payload.sub
  }
  if (token.startsWith('machine')) return token
  const response = await fetch(`${issuer}/me`, { headers: { authorization: `Bearer ${token}` } })
  return response.ok ? String(Object(await response.json()).sub) : undefined
}

/** No token of the gateway itself was in any of these requests. */
function neverSent(origin: string, requests: readonly Asked[]): void {
  for (const { headers, body } of requests)
    for (const [token] of JSON.stringify([headers, body]).matchAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g))
      assert.notEqual(decodeJwt(token).iss, origin)
}

async function signedIn(origin: string, name: string) {
  const client = new HandClient(origin)
  const { access_token, refresh_token } = await client.tokens(new Person(name))
  return { client, access_token, refresh_token }
}

// The provider's access tokens are good for an hour.
const EXPIRED = 3_590_000

test('two people call at once, and the target gets the exchanged token of each', async (t) => {
  const { origin, endpoint, call, received } = await exchangingBroker(t)
  const people = { alice: await signedIn(origin, 'alice'), bob: await signedIn(origin, 'bob') }
  const calls = Array.from({ length: 40 }, (_, index) => NAMES[index % 2] ?? 'alice')
  const answers = await Promise.all(calls.map((name) => call(people[name].access_token, name)))

  assert.deepEqual(
    answers.map(({ status }) => status),
    calls.map(() => 200),
  )
  for (const [name, authorization] of received()) assert.equal(authorization, `Bearer for-${name}`)
  assert.equal(received().length, calls.length)
  assert.equal(endpoint.asked.length, 2, 'one exchange for each')
})

test('the ID token of the provider is exchanged when the subject is an ID token', async (t) => {
  const { origin, endpoint, call, received } = await exchangingBroker(t, {
    options: { subjectTokenType: 'id_token' },
  })
  assert.equal((await call((await signedIn(origin, 'bob')).access_token, 'bob')).status, 200)
  assert.deepEqual(received(), [['bob', 'Bearer for-bob']])
  assert.equal(decodeJwt(endpoint.asked[0]?.form.get('subject_token') ?? '').sub, 'bob')
})

test('callers of another provider beside the broker go on exchanging their own token', async (t) => {
  const { origin, endpoint, call, received } = await exchangingBroker(t)
  const { access_token: token } = await signedIn(origin, 'alice')
  assert.equal((await call('machine-1', 'machine')).status, 200)
  assert.equal((await call(token, 'alice')).status, 200)
  assert.deepEqual(received(), [
    ['machine', 'Bearer for-machine-1'],
    ['alice', 'Bearer for-alice'],
  ])
  assert.equal(endpoint.asked[0]?.form.get('subject_token'), 'machine-1')
})

test('a token of the broker is never exchanged, also where the caller’s own token is asked for', async (t) => {
  const { origin, endpoint, call, received } = await exchangingBroker(t, { options: { subject: 'caller' } })
  const { access_token: token } = await signedIn(origin, 'alice')
  assert.equal((await call(token)).status, 401)
  assert.deepEqual([endpoint.asked, received()], [[], []])
})

test('an exchanged token serves the person after the client has refreshed its own', async (t) => {
  const { origin, endpoint, call } = await exchangingBroker(t)
  const { client, access_token: first, refresh_token: refresh } = await signedIn(origin, 'alice')
  assert.equal((await call(first)).status, 200)
  const { body } = await client.refresh(refresh)
  assert.notEqual(body['access_token'], first)
  assert.equal((await call(body['access_token'])).status, 200)
  assert.equal(endpoint.asked.length, 1)
})

test('after the access token of the provider has expired, a call refreshes it once', async (t) => {
  const { origin, issuer, endpoint, call } = await exchangingBroker(t)
  const { access_token: token } = await signedIn(origin, 'alice')
  assert.equal((await call(token)).status, 200)
  const asked = () => issuer.requests.filter((request) => request === 'POST /token').length
  const before = asked()
  later(t, EXPIRED)
  const answers = await Promise.all([1, 2, 3].map(() => call(token)))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.equal(asked(), before + 1)
  const [first, second] = endpoint.asked.map(({ form }) => form.get('subject_token'))
  assert.equal(endpoint.asked.length, 2)
  assert.notEqual(first, second)
})

test('a token that the exchange refuses early is replaced when the client refreshes its own', async (t) => {
  const { origin, endpoint, refused, call, callerTokens } = await exchangingBroker(t)
  const { client, access_token: token, refresh_token: refresh } = await signedIn(origin, 'alice')
  refused.add((await callerTokens()?.(identityOf(token), 'login'))?.access ?? '')
  assert.equal((await call(token)).status, 401)
  later(t, 2_000)
  const { body } = await client.refresh(refresh)
  assert.equal((await call(body['access_token'])).status, 200)
  assert.equal(endpoint.asked.length, 2)
})

test('when the provider ends the sign-in, calls are refused so that the client signs in again', async (t) => {
  const { origin, issuer, endpoint, call, received, lines } = await exchangingBroker(t)
  const { access_token: token } = await signedIn(origin, 'alice')
  issuer.responses.set('/token', (_request, response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
  )
  later(t, EXPIRED)
  for (const _ of [1, 2]) {
    const { status, headers } = await call(token)
    assert.equal(status, 401)
    assert.match(headers.get('www-authenticate') ?? '', /error="invalid_token"/)
  }
  assert.deepEqual([endpoint.asked, received()], [[], []])
  assert.ok(lines.some(({ msg }) => msg === 'a sign-in has ended'))
})

test('a sign-in that ends at the refresh of a client ends its calls too, while the cached token is good', async (t) => {
  const { origin, issuer, call } = await exchangingBroker(t)
  const { client, access_token: token, refresh_token: refresh } = await signedIn(origin, 'alice')
  assert.equal((await call(token)).status, 200)
  issuer.responses.set('/token', (_request, response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
  )
  assert.equal((await client.refresh(refresh)).status, 400)
  assert.equal((await call(token)).status, 401)
})

test('while the provider is away a call is a 503 that says when to retry, and a later one works', async (t) => {
  const { origin, issuer, endpoint, call, received, lines } = await exchangingBroker(t)
  const { access_token: token } = await signedIn(origin, 'alice')
  issuer.responses.set('/token', (_request, response) => response.writeHead(503).end())
  later(t, EXPIRED)
  const { status, headers } = await call(token)
  assert.deepEqual([status, headers.get('retry-after')], [503, '5'])
  assert.deepEqual([endpoint.asked, received()], [[], []])
  assert.ok(!JSON.stringify(lines).includes(String(token)))
  issuer.responses.delete('/token')
  assert.equal((await call(token)).status, 200)
})

test('a call with a cached token asks neither the state store nor the provider', async (t) => {
  const { origin, callerTokens } = await exchangingBroker(t)
  const alice = identityOf((await signedIn(origin, 'alice')).access_token)
  const tokens = callerTokens()
  const first = tokens?.(alice, 'login')
  assert.ok(isPromise(first))
  const held = await first
  const again = tokens?.(alice, 'login')
  assert.ok(!isPromise(again))
  assert.equal(again, held)
})

test('a newer token of the client brings the newest token of the provider', async (t) => {
  const { origin, callerTokens } = await exchangingBroker(t)
  const { client, access_token: first, refresh_token: refresh } = await signedIn(origin, 'alice')
  const old = await callerTokens()?.(identityOf(first), 'login')
  later(t, 2_000)
  const { body } = await client.refresh(refresh)
  const next = await callerTokens()?.(identityOf(body['access_token']), 'login')
  assert.notEqual(next?.access, old?.access)
  assert.equal(next?.holder, old?.holder)
  assert.equal((await callerTokens()?.(identityOf(first), 'login'))?.access, next?.access)
})

test('no mix of identities gets the token of another person, also under concurrency', async (t) => {
  const { origin, callerTokens, issuer } = await exchangingBroker(t)
  const names = ['alice', 'bob', 'alice', 'eve']
  const known: Identity[] = []
  for (const name of names) known.push(identityOf((await signedIn(origin, name)).access_token))
  const tokens = callerTokens()
  assert.ok(tokens)
  const held = new Map<unknown, string>()
  for (const identity of known) {
    const found = await tokens(identity, 'login')
    assert.equal(await personOf(asking(found?.access), issuer.url), identity.subject)
    held.set(identity.claims['sid'], found?.access ?? '')
  }
  assert.equal(new Set(held.values()).size, names.length)

  const claim = (name: string) =>
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...known.map(({ claims }) => claims[name])) },
      fc.constantFrom<unknown>(undefined, '', 'constructor', '__proto__', 0, null, [known[0]?.claims[name]]),
    )
  const mixed = fc.record({
    sid: claim('sid'),
    sub: claim('sub'),
    idp: claim('idp'),
    iss: claim('iss'),
    iat: claim('iat'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(mixed, { minLength: 1, maxLength: 12 }), async (list) => {
      await Promise.all(
        list.map(async (claims) => {
          const identity = {
            provider: 'broker',
            subject: typeof claims.sub === 'string' ? claims.sub : '',
            claims,
            ...(typeof claims.iss === 'string' && { issuer: claims.iss }),
          }
          const owner = known.find(({ claims: own }) => own['sid'] === claims.sid)
          const isOwner =
            owner !== undefined &&
            identity.subject === owner.subject &&
            (['idp', 'iss'] as const).every((name) => claims[name] === owner.claims[name])
          const found = await Promise.resolve()
            .then(() => tokens(identity, 'login'))
            .catch((error: unknown) => {
              assert.ok(error instanceof Refusal && error.statusCode === 401, String(error))
            })
          if (found !== undefined) assert.ok(isOwner, JSON.stringify(claims))
          if (isOwner && typeof claims.iat === 'number') assert.equal(found?.access, held.get(claims.sid))
        }),
      )
    }),
    { numRuns: runs(150) },
  )
})

const asking = (token = ''): Asked => ({
  path: '/token',
  headers: {},
  body: '',
  form: new URLSearchParams({ subject_token: token }),
})
