import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { booted } from 'sallyport/testing'
import { Secret } from 'sallyport/toolkit'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { PAGES } from '#kit/oidc-provider.js'
import { Person } from '#kit/person.js'
import { Seal } from '#plugins/login/browser/seal.js'
import { KEY, signInRegistry } from './sign-in-registry.js'

type Registry = Awaited<ReturnType<typeof signInRegistry>>

/** A person at the issuer's answer, before it is given to the registry. */
async function answered({ origin }: Registry) {
  const person = new Person()
  const link = `${origin}/sign-in?return=/registry/default`
  const { url } = await person.follow(link, (each) => each.includes('/callback?'))
  return { person, answer: new URL(url) }
}

const cookieOf = (person: Person, origin: string): string =>
  [...person.cookies(origin)].map(([name, value]) => `${name}=${value}`).join('; ')

const changed = (answer: URL, parameters: Readonly<Record<string, string | undefined>>): string => {
  const url = new URL(answer)
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  return url.href
}

test('forged, cut, expired and exchanged cookies are as if there were none', async (t) => {
  const registry = await signInRegistry(t)
  const { origin, issuer } = registry
  const { person, answer } = await answered(registry)
  const owner = `${PAGES.clientId} ${issuer.url} ${origin}/sign-in/callback`
  const names = new Seal(new Secret(KEY), owner)
  const [SESSION, PENDING] = [names.cookieName('session'), names.cookieName('sign-in')]
  const pending = person.cookies(origin).get(PENDING) ?? ''
  await person.follow(answer.href)
  const session = person.cookies(origin).get(SESSION) ?? ''
  const page = `${origin}/registry/default`
  const status = async (cookie: string) => (await fetch(page, { headers: { cookie } })).status
  assert.equal(await status(`${SESSION}=${session}`), 200)

  const access = await issuer.token()
  const sealed = (key: string, owner: string, purpose: string, until: number) =>
    new Seal(new Secret(key), owner).seal(purpose, { id: 'x', access, until: Date.now() + 60_000 }, until)
  const soon = Date.now() + 60_000
  assert.equal(await status(`${SESSION}=${await sealed(KEY, owner, 'session', soon)}`), 200)

  const parts = session.split('.')
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  for (const made of [
    session.slice(0, -1),
    session.slice(1),
    `${session}A`,
    parts.with(3, encoded({ access })).join('.'),
    parts.with(0, encoded({ alg: 'none' })).join('.'),
    [encoded({ alg: 'none' }), encoded({ value: { id: 'x', access, until: soon } }), ''].join('.'),
    pending,
    access,
    await sealed(Buffer.alloc(32).toString('base64'), owner, 'session', soon),
    await sealed(KEY, owner.replace(PAGES.clientId, 'other'), 'session', soon),
    await sealed(KEY, owner.replace('/sign-in/', '/other/sign-in/'), 'session', soon),
    await sealed(KEY, owner, 'pending', soon),
    await sealed(KEY, owner, 'session', Date.now() - 60_000),
    'x'.repeat(12_000),
    '"',
    '%00',
  ])
    assert.equal(await status(`${SESSION}=${made}`), 401, made.slice(0, 80))
  const many = Array.from({ length: 500 }, (_, index) => `${SESSION}.${index}=x`).join('; ')
  assert.equal(await status(many), 401)
  assert.equal(await status(`${SESSION}=${'y'.repeat(40_000)}`), 431)

  // The reverse: a session begins no sign-in.
  const reversed = new Person()
  reversed.cookies(origin).set(PENDING, session)
  assert.equal((await reversed.ask(answer.href)).status, 400)
})

test('CL-06 CL-07 T4 T5: an answer is good once, in the browser that asked, from the issuer that was asked', async (t) => {
  const registry = await signInRegistry(t)
  const { origin, issuer, lines } = registry
  const { person, answer } = await answered(registry)

  const victim = new Person()
  assert.equal((await person.ask(changed(answer, { state: 'made-up' }))).status, 400)
  assert.equal((await person.ask(`${origin}/sign-in/callback?error=x`)).status, 400)
  const injected = await victim.ask(answer.href)
  assert.equal(injected.status, 400)
  assert.match(await injected.text(), /sign_in_unknown/)
  // Somebody who is signing in gets no one else's answer either.
  const { person: other, answer: ofOther } = await answered(registry)
  assert.equal((await other.ask(answer.href)).status, 400)
  const swapped = changed(ofOther, { code: answer.searchParams.get('code') ?? '' })
  assert.equal((await other.ask(swapped)).status, 502, 'PKCE: a code of another sign-in')

  const before = new Map(person.cookies(origin))
  assert.equal((await person.ask(answer.href)).status, 303)
  assert.equal((await person.ask(answer.href)).status, 400, 'replayed')
  const thief = new Person()
  for (const [name, value] of before) thief.cookies(origin).set(name, value)
  const asked = issuer.requests.length
  assert.equal((await thief.ask(answer.href)).status, 400, 'replayed with a copy of the cookie')
  assert.equal(issuer.requests.length, asked, 'the issuer is not asked again')

  for (const parameters of [
    { iss: 'https://evil.example' },
    { iss: `${issuer.url}/` },
    { iss: undefined },
    { state: undefined },
    { state: 'made-up' },
    { code: undefined },
    { code: undefined, error: 'access_denied', iss: 'https://evil.example', error_description: 'CALL 555' },
  ]) {
    const asked = issuer.requests.length
    const { person: next, answer: own } = await answered(registry)
    const got = await next.ask(changed(own, parameters))
    assert.ok([400, 502].includes(got.status), JSON.stringify(parameters))
    assert.deepEqual(
      [...next.cookies(origin).keys()].filter((name) => name.includes('session')),
      [],
    )
    assert.doesNotMatch(await got.text(), /CALL 555|evil/)
    assert.ok(!issuer.requests.slice(asked).includes('POST /token'))
  }
  assert.doesNotMatch(JSON.stringify(lines), new RegExp(answer.searchParams.get('code') ?? ''))
})

test('T8: the cookie opens nothing of a proxy, and a target never gets it', async (t) => {
  const { issuer } = await signInRegistry(t)
  const seen: (string | undefined)[] = []
  const target = await listening(t, ({ headers }, response) => {
    seen.push(headers.cookie)
    response.end('of the target')
  })
  const home = folder(t, { 'cookie.key': KEY })
  const provider = { issuerUrl: issuer.url, allowPrivateIP: true }
  const list = [
    { use: 'discovery/issuer' },
    { use: 'auth/oidc', with: { name: 'corp', audience: issuer.audience, ...provider } },
    {
      use: 'pages/sign-in',
      with: {
        ...PAGES,
        ...provider,
        resourceUrl: 'https://registry.example.com',
        cookieKeyFile: './cookie.key',
      },
    },
    { use: 'forward/http', with: { target } },
  ]
  const app = await booted(t, list, { folder: home })
  const redirectUri = 'https://registry.example.com/sign-in/callback'
  const seal = new Seal(new Secret(KEY), `${PAGES.clientId} ${issuer.url} ${redirectUri}`)
  const access = await issuer.token()
  const until = Date.now() + 60_000
  const cookie = `__Host-${seal.cookieName('session')}=${await seal.seal('session', { id: 'x', access, until }, until)}`
  for (const method of ['GET', 'HEAD', 'POST', 'DELETE'] as const)
    assert.equal((await app.inject({ method, url: '/mcp', headers: { cookie } })).statusCode, 401)
  const signedOut = await app.inject({ url: '/signed-out', headers: { cookie } })
  assert.equal(signedOut.headers.location, '/', 'the session is good')

  const headers = { cookie, authorization: `Bearer ${access}` }
  assert.equal((await app.inject({ url: '/mcp', headers })).statusCode, 200)
  assert.deepEqual(seen, [undefined])
})

test('an ID token of another sign-in is refused', async (t) => {
  const registry = await signInRegistry(t)
  const { issuer, origin } = registry
  const first = await answered(registry)
  const second = await answered(registry)
  const one = await capture(registry, first.answer, first.person)
  issuer.responses.set('/token', (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(one),
  )
  const got = await second.person.ask(second.answer.href)
  assert.equal(got.status, 502)
  assert.match(await got.text(), /sign_in_mixed_up/)
  assert.equal(second.person.cookies(origin).size, 0)
})

test('an ID token is verified: signature, issuer, audience, nonce and times, as clocks differ a little', async (t) => {
  const registry = await signInRegistry(t)
  const { issuer, origin } = registry
  const access = await issuer.token()
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  const other = await generateKeyPair('RS256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'signing', alg: 'RS256', use: 'sig' }
  const json = (path: string, body: object) =>
    issuer.responses.set(path, (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    )
  json('/jwks', { keys: [jwk] })
  const ended = async (change: object, key = privateKey) => {
    const { person, answer } = await answered(registry)
    const nonce = new URL(person.visited.find((url) => url.includes('nonce=')) ?? '').searchParams.get(
      'nonce',
    )
    const now = Math.floor(Date.now() / 1000)
    const usual = { iss: issuer.url, aud: PAGES.clientId, sub: 'alice', nonce, iat: now, exp: now + 60 }
    const idToken = await new SignJWT({ ...usual, ...change })
      .setProtectedHeader({ alg: 'RS256', kid: 'signing' })
      .sign(key)
    json('/token', { access_token: access, token_type: 'Bearer', expires_in: 300, id_token: idToken })
    return (await person.ask(answer.href)).status
  }
  const now = Math.floor(Date.now() / 1000)

  assert.equal(await ended({}), 303)
  assert.equal(await ended({ iat: now + 40, exp: now + 100 }), 303, 'the clock of the issuer is ahead')
  assert.equal(await ended({ iat: now - 400, exp: now - 40 }), 303, 'the clock of the issuer is behind')
  assert.equal(await ended({ exp: now - 120 }), 502)
  assert.equal(await ended({ nonce: 'of another sign-in' }), 502)
  assert.equal(await ended({ nonce: undefined }), 502)
  assert.equal(await ended({ aud: 'another client' }), 502)
  assert.equal(await ended({ iss: 'https://evil.example' }), 502)
  assert.equal(await ended({}, other.privateKey), 502, 'signed by another key')
  json('/token', { access_token: access, token_type: 'Bearer' })
  const { person, answer } = await answered(registry)
  assert.equal((await person.ask(answer.href)).status, 502, 'no ID token')
  assert.equal(person.cookies(origin).size, 0)
})

/** The token response to an answer. */
async function capture({ issuer }: Registry, answer: URL, person: Person): Promise<string> {
  let asked = ''
  issuer.responses.set('/token', (request, response) => {
    request.on('data', (chunk) => {
      asked += String(chunk)
    })
    request.on('end', () => response.writeHead(500).end())
  })
  assert.equal((await person.ask(answer.href)).status, 503)
  issuer.responses.delete('/token')
  const pair = Buffer.from(`${PAGES.clientId}:${PAGES.clientSecret}`).toString('base64')
  const headers = { authorization: `Basic ${pair}`, 'content-type': 'application/x-www-form-urlencoded' }
  const response = await fetch(`${issuer.url}/token`, { method: 'POST', headers, body: asked })
  assert.equal(response.status, 200)
  return response.text()
}

test('CL-34: the error description of the issuer is text on a page', async (t) => {
  const registry = await signInRegistry(t)
  for (const [error, status] of [
    ['access_denied', 403],
    ['temporarily_unavailable', 503],
    ['invalid_scope', 502],
    ['<img src=x>', 502],
  ] as const) {
    const { person, answer } = await answered(registry)
    const description = '<script>alert(1)</script>'
    const url = changed(answer, { code: undefined, error, error_description: description })
    const got = await person.ask(url)
    const body = await got.text()
    assert.equal(got.status, status)
    assert.match(body, /&lt;script&gt;/)
    assert.doesNotMatch(body, /<script>|<img/)
    assert.match(String(got.headers.get('content-security-policy')), /default-src 'none'/)
    assert.match(body, /href="\/sign-in\?return=%2Fregistry%2Fdefault">Try again</)
  }
})

test('no sign-in ends at another host', async (t) => {
  const registry = await signInRegistry(t)
  const { origin } = registry
  for (const asked of ['//evil.example', 'https://evil.example/', '/\\evil.example', '/.//evil.example']) {
    const person = new Person()
    const end = await person.follow(`${origin}/sign-in?return=${encodeURIComponent(asked)}`)
    assert.equal(end.url, `${origin}/`)
    assert.ok(!person.visited.some((url) => url.includes('//evil')))
  }
})

test('CL-05 CL-19 T16: an issuer that is away or silent is a page that says so', async (t) => {
  const registry = await signInRegistry(t)
  const { origin, issuer, lines } = registry
  const begin = () => new Person().ask(`${origin}/sign-in`)
  const places = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']
  for (const place of places) issuer.responses.set(place, (request) => request.socket.destroy())
  const away = await begin()
  assert.equal(away.status, 503)
  assert.ok(Number(away.headers.get('retry-after')) > 0)
  assert.match(await away.text(), /sign_in_unavailable/)

  const [document = ''] = places
  const metadata = (change: object) =>
    issuer.responses.set(document, (_request, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          issuer: issuer.url,
          authorization_endpoint: `${issuer.url}/auth`,
          token_endpoint: `${issuer.url}/token`,
          ...change,
        }),
      ),
    )
  for (const change of [
    { authorization_endpoint: 'javascript:alert(1)' },
    { authorization_endpoint: 'http://far.example/auth' },
    { token_endpoint: undefined },
    { code_challenge_methods_supported: ['plain'] },
    { issuer: `${issuer.url}/` },
  ]) {
    metadata(change)
    const got = await begin()
    assert.ok(got.status >= 500, JSON.stringify(change))
    assert.equal(got.headers.get('location'), null)
  }
  for (const place of places) issuer.responses.delete(place)

  const quoted = await answered(registry)
  issuer.responses.set('/token', (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('TOKEN'),
  )
  assert.equal((await quoted.person.ask(quoted.answer.href)).status, 502)
  assert.doesNotMatch(JSON.stringify(lines), /TOKEN/)
  assert.match(JSON.stringify(lines), /SyntaxError/)

  const { person, answer } = await answered(registry)
  issuer.responses.set('/token', () => {})
  const silent = await person.ask(answer.href)
  assert.equal(silent.status, 503)
  assert.match(await silent.text(), /sign_in_unavailable/)
  assert.match(JSON.stringify(lines), /nobody was signed in/)
})

test('forged callbacks fill neither the log nor the issuer, and block no people at other addresses', async (t) => {
  const registry = await signInRegistry(t)
  const { origin, issuer, lines } = registry
  const begin = async (index: number) => {
    const person = new Person()
    const { headers } = await person.ask(`${origin}/sign-in`)
    const state = new URL(headers.get('location') ?? '').searchParams.get('state')
    const answer = `${origin}/sign-in/callback?state=${state}&iss=${issuer.url}`
    return { person, answer, said: `${answer}&error=x&error_description=made-up-${index}` }
  }
  const begun = await Promise.all(Array.from({ length: 70 }, (_, index) => begin(index)))
  for (const { person, said } of begun.slice(0, 20)) {
    const cookies = new Map(person.cookies(origin))
    assert.equal((await person.ask(said)).status, 502)
    for (const [name, value] of cookies) person.cookies(origin).set(name, value)
    assert.equal((await person.ask(said)).status, 400)
  }
  const made = lines.filter((line) => JSON.stringify(line).includes('made-up'))
  assert.ok(made.length > 0 && made.length <= 10, String(made.length))

  const held: (() => void)[] = []
  const full = new Promise<void>((resolve) =>
    issuer.responses.set('/token', (_request, response) => {
      held.push(() => response.writeHead(500).end())
      if (held.length === 64) resolve()
    }),
  )
  const late = await Promise.all(Array.from({ length: 20 }, (_, index) => begin(index)))
  const all = [...begun.slice(20), ...late].map(({ person, answer }) => ({ person, url: `${answer}&code=x` }))
  const waiting = all.slice(0, 64).map(({ person, url }) => person.ask(url))
  await full
  const [over, other] = all.slice(64)
  assert.ok(over !== undefined && other !== undefined)
  const refused = await over.person.ask(over.url)
  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get('retry-after'), '1')
  assert.match(await refused.text(), /sign_in_busy/)
  assert.equal(held.length, 64)
  const elsewhere = once(
    get(other.url, { localAddress: '127.0.0.2', headers: { cookie: cookieOf(other.person, origin) } }),
    'response',
  )
  await eventually(() => held.length === 65 || undefined)
  for (const release of held) release()
  const [answered] = (await elsewhere) as [IncomingMessage]
  assert.equal(answered.resume().statusCode, 503)
  for (const { status } of await Promise.all(waiting)) assert.equal(status, 503)
  issuer.responses.delete('/token')
  assert.equal((await over.person.ask(over.url)).status, 502, 'it may come again')
})
