import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, type Entry, isScope } from 'sallyport'
import { pathText } from 'sallyport/embed'
import { authSection, incomingEntries } from 'sallyport/presets/incoming'
import { booted, issuing, protectedRoute } from 'sallyport/testing'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { plugin } from '#kit/plugin.js'

const provider = { name: 'corp', issuerUrl: 'https://idp.example', audience: 'registry' }
const oauth = { resourceUrl: 'https://r.example', providers: [provider] }

const usesOf = (entries: readonly Entry[]) => entries.map(({ use }) => use)
const issuesOf = (written: unknown) =>
  authSection.safeParse(written).error?.issues.map(({ path }) => path.join('.')) ?? []

test('the section is mode oauth unless it says otherwise, and then needs oauth and a provider', () => {
  assert.deepEqual(issuesOf({}), ['oauth'])
  assert.deepEqual(issuesOf({ mode: 'oauth' }), ['oauth'])
  assert.deepEqual(issuesOf({ oauth: { resourceUrl: 'https://r.example', providers: [] } }), [
    'oauth.providers',
  ])
  assert.deepEqual(issuesOf({ mode: 'none' }), ['mode'])
  assert.deepEqual(issuesOf({ oauth: { ...oauth, providers: [provider, provider] } }), [
    'oauth.providers.1.name',
  ])
  assert.deepEqual(issuesOf({ oauth }), [])
  assert.deepEqual(issuesOf({ mode: 'anonymous' }), [])
})

test('providers stand in the written order, each with a plugin of its type', () => {
  const providers = [
    provider,
    { type: 'kubernetes', audience: 'registry' },
    { name: 'own', type: './own.js', key: 1 },
  ]
  const entries = incomingEntries(authSection.parse({ oauth: { ...oauth, providers } }))
  assert.deepEqual(usesOf(entries), [
    'discovery/issuer',
    'auth/oidc',
    'auth/kubernetes',
    './own.js',
    'auth/public-paths',
    'discovery/resource',
  ])
  assert.deepEqual(
    entries.slice(1, 4).map(({ id }) => id),
    ['auth/oidc:corp', 'auth/kubernetes:kubernetes', 'auth/./own.js:own'],
  )
  assert.deepEqual(entries[3]?.with, { name: 'own', key: 1 })
})

test('mode anonymous authenticates no caller, and has no metadata', async (t) => {
  const entries = incomingEntries(authSection.parse({ mode: 'anonymous', oauth }))
  assert.deepEqual(usesOf(entries), ['auth/anonymous', 'auth/public-paths'])
  const app = await booted(t, [...entries, { use: protectedRoute }])
  assert.equal((await app.inject('/closed')).statusCode, 200)
  const metadata = await app.inject('/.well-known/oauth-protected-resource')
  assert.deepEqual([metadata.statusCode, metadata.json().error], [404, 'not_found'])
})

test('mode oauth without providers, in settings that skip the schema, accepts no caller', async (t) => {
  const entries = incomingEntries({ mode: 'oauth', publicPaths: [] })
  const app = await booted(t, [...entries, { use: protectedRoute }])
  assert.equal((await app.inject('/closed')).statusCode, 401)
})

test('both keys `publicPaths` add to the paths that are always public', async (t) => {
  const issuer = await issuing(t)
  const auth = authSection.parse({
    publicPaths: ['/a'],
    oauth: { ...oauth, publicPaths: ['/b'], providers: [issuer.provider] },
  })
  const routes = plugin(
    'routes',
    ({ http }) => void ['/a', '/b', '/c', '/openapi.json'].map((path) => http.get(path, () => path)),
  )
  const app = await booted(t, [...incomingEntries(auth), routes])
  const statuses = await Promise.all(
    ['/a', '/b', '/c', '/openapi.json', '/.well-known/x'].map(
      async (url) => (await app.inject(url)).statusCode,
    ),
  )
  assert.deepEqual(statuses, [200, 200, 401, 200, 404])
})

test('a wrong option of a provider is reported at its place in the file', async (t) => {
  const auth = authSection.parse({
    oauth: {
      resourceUrl: 'not a url',
      publicPaths: ['/x/../y'],
      providers: [provider, { name: 'wrong', issuerUrl: 'https://idp.example', audiance: 'registry' }],
    },
  })
  const error = await booted(t, incomingEntries(auth)).catch((reason: unknown) => reason)
  assert.ok(error instanceof ConfigError)
  const places = new Set(error.problems.map(({ place }) => place.split(' ')[0]))
  const wrong = ['auth.oauth.providers[1].audiance', 'auth.oauth.publicPaths[0]', 'auth.oauth.resourceUrl']
  for (const place of wrong) assert.ok(places.has(place), place)
})

test('`unavailableStatus: 503` applies when no provider that could decide was reachable; other failures are 401', async (t) => {
  const issuer = await issuing(t)
  const dead = { name: 'dead', issuerUrl: await closedPort(), audience: 'registry', allowPrivateIP: true }
  for (const unavailableStatus of [401, 503] as const) {
    const auth = authSection.parse({
      oauth: { ...oauth, unavailableStatus, providers: [issuer.provider, dead] },
    })
    const app = await booted(t, [...incomingEntries(auth), { use: protectedRoute }])
    const ask = async (token: string) =>
      app.inject({ url: '/closed', headers: { authorization: `Bearer ${token}` } })
    const undecided = await ask(await issuer.jwt({ iss: dead.issuerUrl }))
    assert.equal(undecided.statusCode, unavailableStatus)
    assert.equal(undecided.headers['retry-after'] !== undefined, unavailableStatus === 503)
    assert.equal(undecided.json().error, 'authentication_unavailable')
    const challenge = String(undecided.headers['www-authenticate'] ?? '')
    assert.equal(challenge.includes('resource_metadata='), unavailableStatus === 401)
    assert.doesNotMatch(challenge, /error/)
    assert.equal((await ask(await issuer.jwt({ exp: 1 }))).statusCode, 401)
    assert.equal((await ask(await issuer.jwt())).statusCode, 200)
  }
})

test('the entries can be printed: they are data and nothing else', () => {
  const entries = incomingEntries(authSection.parse({ publicPaths: ['/x'], oauth }), {
    alwaysPublic: [],
    resourcePath: '/mcp',
  })
  assert.ok(entries.every((entry) => !isScope(entry)))
  assert.deepEqual(structuredClone(entries), entries)
  assert.equal(pathText(entries[1]?.origin?.[''] ?? []), 'auth.oauth.providers[0]')
})

test('an unknown type of provider is a plugin name, and the plugin gets every field', async (t) => {
  const own = `
    import { Authenticator, definePlugin } from 'sallyport'
    export default definePlugin({
      name: 'own', api: 1, provides: [Authenticator],
      options: { '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) } },
      setup: (gateway, { name, password }) => gateway.provide(Authenticator, {
        provider: name,
        authenticate: ({ credentials }) => credentials.token === password
          ? { identity: { provider: name, subject: 'friend', claims: {} } }
          : { rejection: { kind: 'invalid', cause: 'password' } },
      }),
    })`
  const root = folder(t, { 'own.js': own, 'package.json': '{"type":"module"}' })
  const providers = [{ name: 'door', type: './own.js', password: 'melon' }]
  const entries = incomingEntries(authSection.parse({ oauth: { ...oauth, providers } }))
  const app = await booted(t, [...entries, { use: protectedRoute }], { folder: root })
  const ask = async (token: string) =>
    (await app.inject({ url: '/closed', headers: { authorization: `Bearer ${token}` } })).statusCode
  assert.deepEqual([await ask('melon'), await ask('lemon')], [200, 401])
})
