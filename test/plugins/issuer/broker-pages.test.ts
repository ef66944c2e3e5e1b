import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { eventually } from 'sallyport/testing'
import { serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { PAGES, realIssuer } from '#kit/oidc-provider.js'
import { Person } from '#kit/person.js'
import { later } from './brokered.js'

test('a person reads the pages of a registry by the broker, signs out, and no copy of the cookie opens them', async (t) => {
  const { origin, host } = new URL(await closedPort())
  const issuer = await realIssuer(t, {
    people: { redirectUri: `${origin}/oauth/callback`, name: 'Alice', refreshes: true },
  })
  const login = {
    issuerUrl: issuer.url,
    ...PAGES,
    scopes: ['openid', 'offline_access'],
    allowPrivateIP: true,
  }
  const settings = RegistrySettings.parse({
    address: host,
    internalAddress: '127.0.0.1:0',
    stateDirectory: null,
    auth: { oauth: { resourceUrl: origin, broker: { login, keyFile: './broker.key' } } },
    sources: [{ name: 'own', file: { path: './servers.json' } }],
  })
  await serving(t, registry(settings), { folder: folder(t, { 'servers.json': '[]' }) })
  const person = new Person()
  const page = `${origin}/registry/default?search=x`
  await eventually(async () => (await person.ask(page)).status === 401)

  const back = await person.signIn(page)
  assert.deepEqual([back.url, back.status], [page, 200])
  assert.match(back.body, /Alice/)
  assert.equal(back.headers.get('cache-control'), 'no-store')
  assert.equal((await person.ask(`${origin}/registry/default/v0.1/servers`)).status, 200)

  const copies = new Map(person.cookies(origin))
  const signOut = (headers: Record<string, string>) =>
    person.ask(`${origin}/oauth/sign-out`, { method: 'POST', headers })
  assert.equal((await signOut({ origin: 'https://evil.example' })).status, 403)
  assert.equal((await signOut({ origin })).status, 303)
  assert.equal((await person.ask(page)).status, 401)
  for (const [name, value] of copies) person.cookies(origin).set(name, value)
  assert.equal((await person.ask(page)).status, 401, 'a copy of the cookie')
  later(t, 10 * 60_000 + 500)
  assert.equal((await person.ask(page)).status, 401, 'a copy, by the clock of a store that is ahead')
})

test('pages in use ask the provider again, and whom it refuses is signed out', async (t) => {
  const { origin, host } = new URL(await closedPort())
  const issuer = await realIssuer(t, {
    people: { redirectUri: `${origin}/oauth/callback`, name: 'Alice', refreshes: true },
  })
  const login = {
    issuerUrl: issuer.url,
    ...PAGES,
    scopes: ['openid', 'offline_access'],
    allowPrivateIP: true,
  }
  const settings = RegistrySettings.parse({
    address: host,
    internalAddress: '127.0.0.1:0',
    stateDirectory: null,
    auth: {
      oauth: { resourceUrl: origin, broker: { login, keyFile: './broker.key', accessToken: '10m' } },
    },
    sources: [{ name: 'own', file: { path: './servers.json' } }],
  })
  await serving(t, registry(settings), { folder: folder(t, { 'servers.json': '[]' }) })
  const person = new Person()
  const page = `${origin}/registry/default`
  await eventually(async () => (await person.ask(page)).status === 401)
  assert.equal((await person.signIn(page)).status, 200)
  const asked = () => issuer.requests.filter((each) => each === 'POST /token').length
  later(t, 6 * 60_000)
  assert.equal((await person.ask(page)).status, 200)
  assert.equal(asked(), 1)
  later(t, 6 * 60_000)
  assert.equal((await person.ask(page)).status, 200)
  assert.equal((await person.ask(page)).status, 200)
  assert.equal(asked(), 2)
  issuer.responses.set('/token', (_request, response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
  )
  later(t, 6 * 60_000)
  assert.equal((await person.ask(page)).status, 200)
  later(t, 6 * 60_000)
  assert.equal((await person.ask(page)).status, 401)
})

test('a person who is not admitted sees why, and no form', async (t) => {
  const { origin, host } = new URL(await closedPort())
  const issuer = await realIssuer(t, { people: { redirectUri: `${origin}/oauth/callback`, name: 'Alice' } })
  const login = {
    issuerUrl: issuer.url,
    ...PAGES,
    scopes: ['openid'],
    allowPrivateIP: true,
    require: { name: 'Bob' },
  }
  const settings = RegistrySettings.parse({
    address: host,
    internalAddress: '127.0.0.1:0',
    stateDirectory: null,
    auth: { oauth: { resourceUrl: origin, broker: { login, keyFile: './broker.key' } } },
    sources: [{ name: 'own', file: { path: './servers.json' } }],
  })
  await serving(t, registry(settings), { folder: folder(t, { 'servers.json': '[]' }) })
  const end = await new Person().follow(`${origin}/oauth/sign-in?return=https://evil.example/`)
  assert.equal(end.status, 403)
  assert.match(end.body, /does not admit this account/)
  assert.doesNotMatch(end.body, /<form/)
})
