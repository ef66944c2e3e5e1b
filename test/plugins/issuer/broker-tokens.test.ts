import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { folder } from '#kit/folder.js'
import { opened } from '#kit/listening.js'
import { Person } from '#kit/person.js'
import { brokered, HandClient, type TokenAnswer } from './brokered.js'

const errorOf = ({ status, body }: TokenAnswer) => [status, body['error']]

test('AS-TOKEN: a code is good once, for its client, redirect URI and verifier, and a second use ends what it gave', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  await client.register()
  const other = new HandClient(origin)
  await other.register()
  const wrong: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['another verifier', { code_verifier: 'x'.repeat(43) }],
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1:9/other' }],
    ['another client', { client_id: other.id }],
    ['another resource', { resource: 'https://other.example' }],
  ]
  for (const [what, changed] of wrong) {
    const code = (await client.signIn()).get('code') ?? ''
    assert.equal((await client.redeem(code, changed)).status, 400, what)
  }
  const code = (await client.signIn()).get('code') ?? ''
  const both = await Promise.all([client.redeem(code), client.redeem(code)])
  assert.deepEqual(
    both.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 400],
    'of two at once one is good',
  )
  assert.deepEqual(errorOf(await client.redeem(code)), [400, 'invalid_grant'])
  const given = both.find(({ status }) => status === 200)
  assert.deepEqual(errorOf(await client.refresh(given?.body['refresh_token'])), [400, 'invalid_grant'])
})

test('AS-REFRESH: a refresh token rotates, a retry gets the same answer, and a late reuse ends its family', async (t) => {
  const { origin, url } = await brokered(t)
  const client = new HandClient(origin)
  const { refresh_token: first } = await client.tokens()
  const both = await Promise.all([client.refresh(first), client.refresh(first)])
  assert.deepEqual(
    both.map(({ status }) => status),
    [200, 200],
  )
  assert.deepEqual(both[0]?.body, both[1]?.body)
  const second = await client.refresh(both[0]?.body['refresh_token'])
  assert.equal(second.status, 200)
  assert.equal(decodeJwt(String(second.body['access_token'])).aud, url, 'the audience stays')
  const now = Date.now
  t.mock.method(Date, 'now', () => now() + 11_000)
  assert.deepEqual(errorOf(await client.refresh(first)), [400, 'invalid_grant'])
  assert.deepEqual(errorOf(await client.refresh(second.body['refresh_token'])), [400, 'invalid_grant'])
})

test('AS-REFRESH: two different requests with one refresh token, at once, end its family', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  const { refresh_token: token } = await client.tokens()
  const form = { grant_type: 'refresh_token', refresh_token: String(token) }
  const both = await Promise.all([client.token(form), client.token({ ...form, scope: 'tools' })])
  assert.ok(both.some(({ status }) => status === 400))
  const given = both.find(({ status }) => status === 200)
  assert.deepEqual(errorOf(await client.refresh(given?.body['refresh_token'])), [400, 'invalid_grant'])
})

test('a refresh follows the provider: whom it refuses gets no token, and while it is away the token stays good', async (t) => {
  const { origin, issuer, lines } = await brokered(t)
  const client = new HandClient(origin)
  const { refresh_token: token } = await client.tokens()
  issuer.responses.set('/token', (_request, response) => response.writeHead(503).end())
  const away = await client.refresh(token)
  assert.deepEqual(errorOf(away), [503, 'temporarily_unavailable'])
  issuer.responses.delete('/token')
  const good = await client.refresh(token)
  assert.equal(good.status, 200, JSON.stringify(good.body))
  issuer.responses.set('/token', (_request, response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
  )
  assert.deepEqual(errorOf(await client.refresh(good.body['refresh_token'])), [400, 'invalid_grant'])
  issuer.responses.delete('/token')
  assert.deepEqual(
    errorOf(await client.refresh(good.body['refresh_token'])),
    [400, 'invalid_grant'],
    'it has ended',
  )
  assert.ok(lines.some(({ msg }) => msg === 'a sign-in has ended'))
})

test('a person who is no longer admitted gets no token at the next refresh', async (t) => {
  let teams = [{ slug: 'platform' }]
  const { port } = await opened(
    t,
    createServer((_request, response) => response.end(JSON.stringify(teams))),
  )
  const ask = [{ claim: 'teams', url: `http://127.0.0.1:${port}/teams`, each: 'slug' }]
  const { origin } = await brokered(t, { broker: { require: { teams: ['platform'] } }, login: { ask } })
  const client = new HandClient(origin)
  const { refresh_token: token } = await client.tokens()
  const still = await client.refresh(token)
  assert.equal(still.status, 200)
  teams = []
  assert.deepEqual(errorOf(await client.refresh(still.body['refresh_token'])), [400, 'invalid_grant'])
})

test('AS-REVOKE: a client revokes its own refresh token, and no other client does', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  const { refresh_token: token } = await client.tokens()
  const other = new HandClient(origin)
  await other.register()
  const revoke = async (id: string) =>
    (
      await fetch(`${origin}/oauth/revoke`, {
        method: 'POST',
        body: new URLSearchParams({ token: String(token), client_id: id }),
      })
    ).status
  assert.equal(await revoke(other.id), 200)
  const next = await client.refresh(token)
  assert.equal(next.status, 200)
  const revoked = await fetch(`${origin}/oauth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ token: String(next.body['refresh_token']), client_id: client.id }),
  })
  assert.equal(revoked.status, 200)
  assert.deepEqual(errorOf(await client.refresh(next.body['refresh_token'])), [400, 'invalid_grant'])
})

test('what the state store holds names no person and no token', async (t) => {
  const place = folder(t)
  const { origin } = await brokered(t, {
    state: { use: 'state/sqlite', with: { directory: place, passphrase: 'x'.repeat(20) } },
  })
  const client = new HandClient(origin)
  const person = new Person()
  const tokens = await client.tokens(person)
  const stored = readdirSync(place, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => readFileSync(join(place, name), 'latin1'))
    .join('')
  assert.ok(stored.length > 1000)
  const codes = person.visited.flatMap((url) => new URL(url).searchParams.get('code') ?? [])
  for (const secret of [
    ...Object.values(tokens)
      .map(String)
      .filter((text) => text.length > 20),
    ...codes,
    'alice',
    'Alice',
    client.id,
  ])
    assert.ok(!stored.includes(secret), secret)
})
