import assert from 'node:assert/strict'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { folder } from '#kit/folder.js'
import { opened } from '#kit/listening.js'
import { Person } from '#kit/person.js'
import { authority } from '#kit/tls.js'
import { brokered, HandClient, REDIRECT } from './brokered.js'

const CLAUDE = 'https://claude.ai/api/mcp/auth_callback'
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** A broker, and the metadata document of a client with keys, which calls itself as it likes. */
async function documented(t: TestContext, redirectUri = REDIRECT) {
  const ca = authority(t)
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }]
  const reads: string[] = []
  const host = createServer(ca.issue(['localhost']), ({ url = '', headers }, response) => {
    reads.push(url)
    const spelled = new URLSearchParams(url.split('?')[1]).get('as') ?? 'https:'
    response.end(
      JSON.stringify({
        client_id: `${spelled}//${headers.host}${url}`,
        client_name: 'claude.ai',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys },
      }),
    )
  })
  const { port } = await opened(t, host)
  const documents = [`localhost:${port}`]
  const clients = { documents, allowPrivateIP: true, caCertPath: ca.file }
  const { origin } = await brokered(t, { broker: { clients } })
  const client = new HandClient(origin, redirectUri)
  client.id = `https://localhost:${port}/client`
  const assertion = (lasts: string, id = client.id) =>
    new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuer(id)
      .setSubject(id)
      .setAudience(origin)
      .setJti(crypto.randomUUID())
      .setExpirationTime(lasts)
      .sign(privateKey)
  return { client, origin, host: `localhost:${port}`, reads, assertion }
}

const revoke = async (origin: string, fields: Readonly<Record<string, string>>) =>
  fetch(`${origin}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ token: 'x', ...fields }) })

const isConsent = (url: string): boolean => url.includes('/oauth/consent/')

test('ATK-CONSENT: a document with keys is called by its host, whatever name it gives itself', async (t) => {
  const { client, host } = await documented(t)
  const person = new Person()
  await client.signIn(person)
  const again = await person.follow(client.authorizeUrl({ prompt: 'consent' }), isConsent)
  const body = await (await person.ask(again.url)).text()
  assert.match(body, new RegExp(`<h1>Allow ${host} to use `))
  assert.match(body, /It calls itself<\/dt><dd>claude\.ai/)
})

test('ATK-CONSENT: a document is known by one spelling of its URL, and no other is read', async (t) => {
  const { client, host, reads } = await documented(t, CLAUDE)
  client.id = `HTTPS://${host}/client?as=HTTPS:`
  assert.equal((await new Person().ask(client.authorizeUrl())).status, 400)
  assert.deepEqual(reads, [])
})

test('ATK-CONSENT: cookies that another host of the domain can set bind no sign-in to a browser', async (t) => {
  const front = 'https://mcp.example.com'
  const { address } = await brokered(t, { front })
  const client = new HandClient(address, REDIRECT, `${front}/mcp`)
  await client.register()
  const begin = async (cookie = '') => {
    const response = await fetch(client.authorizeUrl(), { redirect: 'manual', headers: { cookie } })
    const location = String(response.headers.get('location'))
    const cookies = response.headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
    return { url: address + location, cookies, own: cookies.filter((each) => each.startsWith('__Host-')) }
  }
  const look = async (url: string, cookies: readonly string[]) =>
    (await fetch(url, { redirect: 'manual', headers: { cookie: cookies.join('; ') } })).status
  const [hers, his] = [await begin(), await begin()]
  assert.equal(await look(his.url, his.cookies), 303)
  const settable = his.cookies.filter((each) => !each.startsWith('__Host-'))
  assert.equal(await look(his.url, settable), 400, 'in a browser without a sign-in')
  assert.equal(await look(his.url, [...hers.own, ...settable]), 400, 'in a browser with one')
  const second = await begin(hers.own.join('; '))
  assert.equal(await look(hers.url, hers.cookies), 303, 'the first tab')
  assert.equal(await look(second.url, [...hers.own, ...second.cookies]), 303, 'the second tab')
})

test('ATK-CLIENT: the answer to a refresh is repeated for its client alone, which proves itself', async (t) => {
  const home = folder(t, { secret: 'a secret of the client' })
  const given = {
    clientId: 'app',
    name: 'The app',
    redirectUris: [REDIRECT],
    clientSecretFile: join(home, 'secret'),
  }
  const { origin } = await brokered(t, { broker: { clients: { given: [given] } } })
  const client = new HandClient(origin)
  client.id = 'app'
  const proof = { client_secret: 'a secret of the client' }
  const first = await client.redeem((await client.signIn()).get('code') ?? '', proof)
  const form = { grant_type: 'refresh_token', refresh_token: String(first.body['refresh_token']) }
  const good = await client.token({ ...form, ...proof })
  assert.equal(good.status, 200)
  const others: Record<string, string>[] = [{}, { client_secret: 'another' }, { ...proof, token: 'x' }]
  for (const other of others)
    assert.ok((await client.token({ ...form, ...other })).status >= 400, JSON.stringify(other))
  assert.deepEqual((await client.token({ ...form, ...proof })).body, good.body)
  assert.deepEqual((await client.token({ ...form, ...proof, x: 'y' })).body, good.body)
})

test('a client with keys refreshes twice at once, each time with a new assertion', async (t) => {
  const { client, assertion } = await documented(t)
  const proof = async () => ({ client_assertion_type: ASSERTION, client_assertion: await assertion('5m') })
  const first = await client.redeem((await client.signIn()).get('code') ?? '', await proof())
  assert.equal(first.status, 200, JSON.stringify(first.body))
  const form = { grant_type: 'refresh_token', refresh_token: String(first.body['refresh_token']) }
  const [one, other] = [await proof(), await proof()]
  const both = await Promise.all([client.token({ ...form, ...one }), client.token({ ...form, ...other })])
  assert.deepEqual(both[0].body, both[1].body)
  assert.equal(both[0].status, 200)
  assert.equal((await client.token(form)).status, 401, 'without an assertion')
})

test('no stranger stores the IDs of assertions for years, nor revokes without end', async (t) => {
  const { origin, client, assertion, reads } = await documented(t)
  const signed = async (lasts: string) =>
    (
      await revoke(origin, {
        client_assertion_type: ASSERTION,
        client_assertion: await assertion(lasts),
      })
    ).status
  assert.equal(await signed('10y'), 401)
  assert.equal(await signed('50m'), 200)
  const statuses = new Set<number>()
  for (let count = 0; count < 70; count++) {
    const { status } = await revoke(origin, { client_id: `${client.id}${count}` })
    statuses.add(status)
  }
  assert.ok(statuses.has(429))
  assert.ok(reads.length <= 60, String(reads.length))
})

test('ATK-EMAIL: an e-mail address that the provider has not verified is in no token', async (t) => {
  let verified: unknown = false
  const { port } = await opened(
    t,
    createHttpServer(({ url }, response) =>
      response.end(JSON.stringify(url === '/email' ? 'boss@example.com' : verified)),
    ),
  )
  const ask = ['email', 'email_verified'].map((claim) => ({
    claim,
    url: `http://127.0.0.1:${port}/${claim}`,
  }))
  const { origin } = await brokered(t, { login: { ask }, broker: { claims: ['email', 'email_verified'] } })
  const emailOf = async () =>
    decodeJwt(String((await new HandClient(origin).tokens())['access_token']))['email']
  assert.equal(await emailOf(), undefined)
  verified = 'false'
  assert.equal(await emailOf(), undefined)
  verified = true
  assert.equal(await emailOf(), 'boss@example.com')
})

test('no stranger has the provider asked about made-up codes without end', async (t) => {
  const { origin, issuer } = await brokered(t)
  const statuses: number[] = []
  for (let count = 0; count < 65; count++) {
    const person = new Person()
    const begun = await person.ask(`${origin}/oauth/sign-in`)
    const state = new URL(String(begun.headers.get('location'))).searchParams.get('state')
    statuses.push(
      (await person.ask(`${origin}/oauth/callback?code=x&state=${state}&iss=${issuer.url}`)).status,
    )
  }
  assert.deepEqual([statuses[59], statuses[60]], [502, 429])
  assert.equal(issuer.requests.filter((each) => each === 'POST /token').length, 60)
})

test('a sign-in that goes on before a person has decided counts as one that was begun', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  await client.register()
  const person = new Person()
  const begun = await person.ask(client.authorizeUrl())
  const uid = String(begun.headers.get('location')).split('/').at(-1)
  const resumed = await person.ask(`${origin}/oauth/authorize/${uid}`)
  const next = new URL(String(resumed.headers.get('location')), origin).href
  assert.ok(isConsent(next), next)
  assert.equal((await person.ask(next)).status, 303)
  for (let count = 0; count < 100; count++) await new Person().ask(client.authorizeUrl())
  assert.equal((await person.ask(next)).status, 400, 'the oldest of its network')
})
