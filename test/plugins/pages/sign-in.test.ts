import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from 'sallyport/testing'
import { Secret } from 'sallyport/toolkit'
import { z } from 'zod'
import { PAGES } from '#kit/oidc-provider.js'
import { linkIn, PAGE, Person } from '#kit/person.js'
import { plugin } from '#kit/plugin.js'
import { authority } from '#kit/tls.js'
import { Seal } from '#plugins/login/browser/seal.js'
import { KEY, signInRegistry } from './sign-in-registry.js'

test('CL-05 CL-08 T10: somebody signs in from a page, comes back to it, and signs out', async (t) => {
  const { origin, issuer, lines } = await signInRegistry(t, { people: { name: 'Alice <b>' } })
  const person = new Person()
  const page = `${origin}/registry/default?search=one`
  const closed = await person.ask(page)
  const hint = await closed.text()
  assert.equal(closed.status, 401)
  assert.match(String(closed.headers.get('www-authenticate')), /^Bearer /)
  assert.equal(hint.match(/>Sign in</g)?.length, 1)
  assert.match(hint, /Access for programs/)

  const sent = await person.ask(linkIn(hint, page))
  const asked = new URL(sent.headers.get('location') ?? '').searchParams
  assert.equal(asked.get('code_challenge_method'), 'S256')
  assert.equal(asked.get('resource'), origin)
  assert.equal(asked.get('redirect_uri'), `${origin}/sign-in/callback`)
  assert.equal(sent.headers.get('cache-control'), 'no-store')
  for (const cookie of sent.headers.getSetCookie()) assert.match(cookie, /; Path=\/; HttpOnly; SameSite=Lax/)

  const back = await person.signIn(page)
  assert.deepEqual([back.url, back.status], [page, 200])
  assert.match(back.body, /Alice &lt;b&gt;/)
  assert.doesNotMatch(back.body, /Sign in</)
  assert.equal(back.headers.get('cache-control'), 'no-store')
  assert.match(String(back.headers.get('vary')), /Cookie/)
  const home = await (await person.ask(`${origin}/`)).text()
  assert.match(home, />default</, 'a registry that is not public')

  const [, action = ''] = /method="post" action="([^"]+)"/.exec(back.body) ?? []
  const seal = new Seal(new Secret(KEY), `${PAGES.clientId} ${issuer.url} ${origin}/sign-in/callback`)
  const SESSION = seal.cookieName('session')
  const kept = person.cookies(origin).get(SESSION)
  const form = { method: 'POST', body: new URLSearchParams(), headers: { origin } }
  const out = await person.ask(origin + action, form)
  assert.deepEqual([out.status, out.headers.get('location')], [303, '/signed-out'])
  assert.equal(person.cookies(origin).get(SESSION), undefined)
  const left = await person.follow(`${origin}/signed-out`)
  assert.match(left.body, new RegExp(`href="${issuer.url}/session/end\\?client_id=pages"`))
  assert.equal((await person.ask(page)).status, 401)
  await eventually(() => issuer.requests.includes('POST /token/revocation') || undefined)

  const log = JSON.stringify(lines)
  const session = await seal.open('session', kept ?? '', z.object({ access: z.string() }))
  const parameters = person.visited.flatMap((url) =>
    ['code', 'state', 'nonce'].flatMap((name) => new URL(url).searchParams.get(name) ?? []),
  )
  assert.ok(session !== undefined && parameters.length >= 4)
  for (const secret of [KEY, PAGES.clientSecret, kept ?? '', session.access, ...parameters])
    assert.ok(!log.includes(secret), secret)
})

const thirdParty = plugin('third-party', ({ http }) => {
  http.get('/own', (_request, reply) => reply.send('own'))
  for (const method of ['GET', 'POST'] as const) {
    const handler = () => 'asked for'
    http.route({ method, url: '/open-to-sessions', config: { session: true }, handler })
  }
})

test('the cookie opens pages and the registry API for reading, and nothing else', async (t) => {
  const { origin, issuer } = await signInRegistry(t, { plugins: [thirdParty] })
  const person = new Person()
  await person.signIn(`${origin}/registry/default`)
  const api = `${origin}/registry/default/v0.1/servers`
  const status = async (url: string, init: RequestInit = {}) => (await person.ask(url, init)).status

  const got = await person.ask(api)
  assert.equal(got.status, 200)
  assert.equal(got.headers.get('cache-control'), 'no-store')
  const etag = got.headers.get('etag') ?? ''
  assert.equal(await status(api, { headers: { 'if-none-match': etag } }), 304)
  for (const url of [api, `${origin}/registry/default`]) {
    assert.equal(await status(url, { method: 'HEAD' }), 200)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      assert.equal(await status(url, { method }), 401, method)
  }
  assert.equal(await status(`${origin}/own`), 401)
  assert.equal(await status(`${origin}/sign-in/token`), 401)
  assert.equal(await status(`${origin}/open-to-sessions`), 200)
  assert.equal(await status(`${origin}/open-to-sessions`, { method: 'POST' }), 401)

  // Where both are, the bearer counts.
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  assert.equal(await status(api, bearer('made-up')), 401)
  assert.equal(await status(api, { headers: { authorization: 'Basic eDp5' } }), 401)
  const token = await issuer.token()
  assert.equal(await status(api, bearer(token)), 200)
  const asProgram = await (await person.ask(`${origin}/registry/default`, bearer(token))).text()
  assert.doesNotMatch(asProgram, /Sign out/)

  const unknown = await person.ask(`${origin}/nowhere`)
  assert.equal(unknown.status, 404)
  assert.match(await unknown.text(), /alice.*Sign out/)

  // A public page says who is there, and is then no page for everybody.
  const open = await person.ask(`${origin}/registry/open`)
  assert.match(await open.text(), /alice/)
  assert.equal(open.headers.get('cache-control'), 'no-store')
  const stranger = await fetch(`${origin}/registry/open`, { headers: PAGE })
  assert.match(String(stranger.headers.get('vary')), /Cookie/)
  assert.match(await stranger.text(), /Sign in</)
})

test('only a page of the gateway signs out', async (t) => {
  const { origin } = await signInRegistry(t)
  const post = (headers: Readonly<Record<string, string>>) =>
    fetch(`${origin}/sign-out`, { method: 'POST', redirect: 'manual', headers })
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin, 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    {},
  ]) {
    const { status, headers: answered } = await post(headers as Readonly<Record<string, string>>)
    assert.equal(status, 403, JSON.stringify(headers))
    assert.deepEqual(answered.getSetCookie(), [])
  }
  assert.equal((await post({ 'sec-fetch-site': 'same-origin', origin })).status, 303)
  assert.equal((await post({ origin })).status, 303)
  assert.equal((await fetch(`${origin}/sign-out`, { headers: PAGE })).status, 401)
})

test('a sign-in that was begun at one replica ends at another with the same key', async (t) => {
  const { origin, replica } = await signInRegistry(t)
  const [same, other] = [await replica(), await replica(Buffer.alloc(40, 9).toString('base64'))]
  const person = new Person()
  const begun = linkIn(await (await person.ask(`${origin}/registry/default`)).text(), origin)
  const { url } = await person.follow(begun, (each) => each.includes('/callback?'))
  const at = (replicated: string) => {
    const moved = new Person()
    for (const [name, value] of person.cookies(origin)) moved.cookies(replicated).set(name, value)
    return { moved, callback: replicated + url.slice(origin.length) }
  }

  const refused = at(other)
  assert.equal((await refused.moved.ask(refused.callback)).status, 400)
  const { moved, callback } = at(same)
  const answer = await moved.ask(callback)
  assert.deepEqual([answer.status, answer.headers.get('location')], [303, `${origin}/registry/default`])
  assert.equal((await moved.ask(`${same}/registry/default`)).status, 200)
  for (const [name, value] of moved.cookies(same)) moved.cookies(origin).set(name, value)
  assert.equal((await moved.ask(`${origin}/registry/default`)).status, 200)
})

test('public registries stay open to a person whose token lacks a scope, and no others', async (t) => {
  const { origin, issuer } = await signInRegistry(t, { oauth: { requiredScopes: ['write'] } })
  const seal = new Seal(new Secret(KEY), `${PAGES.clientId} ${issuer.url} ${origin}/sign-in/callback`)
  const until = Date.now() + 60_000
  const session = { id: 'x', access: await issuer.token(), until }
  const person = new Person()
  person.cookies(origin).set(seal.cookieName('session'), await seal.seal('session', session, until))
  for (const path of ['/', '/signed-out', '/registry/open', '/registry/open/v0.1/servers'])
    assert.equal((await person.ask(origin + path)).status, 200, path)
  const home = await person.ask(`${origin}/`)
  assert.equal(home.headers.get('cache-control'), 'no-store')
  assert.doesNotMatch(await home.text(), />default</)
  assert.equal((await person.ask(`${origin}/registry/default`)).status, 403)
})

test('two gateways on one host leave the cookies of each other alone', async (t) => {
  const first = await signInRegistry(t)
  const second = await signInRegistry(t)
  const [one, other] = [new Person(), new Person()]
  await one.signIn(`${first.origin}/registry/default`)
  // A browser sends the cookies of a host to all of its ports.
  for (const [name, value] of one.cookies(first.origin)) other.cookies(second.origin).set(name, value)
  assert.equal((await other.signIn(`${second.origin}/registry/default`)).status, 200)
  const form = { method: 'POST', headers: { origin: second.origin } }
  assert.equal((await other.ask(`${second.origin}/sign-out`, form)).status, 303)
  assert.deepEqual(other.cookies(second.origin), one.cookies(first.origin))
})

test('people who sign in for two pages at once come back to both', async (t) => {
  const { origin } = await signInRegistry(t)
  const person = new Person()
  const pages = ['/registry/default', '/registry/default?search=two']
  const answers: string[] = []
  for (const page of pages) {
    const link = linkIn(await (await person.ask(origin + page)).text(), origin)
    answers.push((await person.follow(link, (url) => url.includes('/callback?'))).url)
  }
  for (const [index, answer] of answers.entries()) {
    const location = (await person.ask(answer)).headers.get('location')
    assert.equal(location, origin + pages[index])
  }
})

test('the page explains a refused token, and no person is sent to the issuer in circles', async (t) => {
  const { origin, lines } = await signInRegistry(t, { people: { audience: 'urn:example:another' } })
  const person = new Person()
  const { status, body, headers } = await person.signIn(`${origin}/registry/default`)
  assert.equal(status, 403)
  assert.match(body, /token_refused/)
  assert.match(body, /invalid_token/)
  assert.match(body, /audience/)
  assert.equal(headers.get('cache-control'), 'no-store')
  assert.equal(person.cookies(origin).size, 0)
  assert.equal(person.visited.filter((url) => url.includes('/callback')).length, 1)
  assert.match(JSON.stringify(lines), /claim:aud/)
})

test('the log has the error of the token endpoint', async (t) => {
  const { origin, lines } = await signInRegistry(t, { signIn: { clientSecret: 'another' } })
  const { status, body } = await new Person().signIn(`${origin}/registry/default`)
  assert.equal(status, 502)
  assert.match(body, /sign_in_failed/)
  assert.match(JSON.stringify(lines), /"cause":"client authentication failed"/)
})

test('the issuer is reached with the certificates of its provider', async (t) => {
  const ca = authority(t)
  const issuerTls = ca.issue(['localhost'])
  for (const [provider, status] of [
    [{ caCertPath: ca.file }, 303],
    [{}, 503],
  ] as const) {
    const { origin } = await signInRegistry(t, { issuerTls, provider })
    assert.equal((await fetch(`${origin}/sign-in`, { redirect: 'manual' })).status, status)
  }
})
