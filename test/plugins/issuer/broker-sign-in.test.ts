import assert from 'node:assert/strict'
import { test } from 'node:test'
import { issuing } from '#kit/issuer.js'
import { Person } from '#kit/person.js'
import { brokered, calledWith, HandClient, REDIRECT } from './brokered.js'

type Changed = Readonly<Record<string, string | undefined>>

// What goes back to the client as an error, with its own `state`, and with the issuer (RFC 9207).
const returned: readonly (readonly [what: string, changed: Changed, error: string])[] = [
  ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
  ['PKCE by plain', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['another resource', { resource: 'https://other.example/mcp' }, 'invalid_target'],
  ['prompt=none without a session', { prompt: 'none' }, 'login_required'],
  ['a request object', { request: 'x' }, 'request_not_supported'],
  ['a request by reference', { request_uri: 'https://x.example/r' }, 'request_uri_not_supported'],
]

for (const [what, changed, error] of returned) {
  test(`AS-AUTHZ: ${what} goes back to the client as ${error}`, async (t) => {
    const { origin } = await brokered(t)
    const client = new HandClient(origin)
    await client.register()
    const answer = await client.signIn(new Person(), { state: 'x'.repeat(2000), ...changed })
    assert.deepEqual(
      [answer.get('error'), answer.get('state'), answer.get('iss'), answer.get('code')],
      [error, 'x'.repeat(2000), origin, null],
    )
  })
}

test('AS-AUTHZ: two resources are refused', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  await client.register()
  const url = `${client.authorizeUrl()}&resource=${encodeURIComponent('https://other.example')}`
  const response = await new Person().ask(url)
  assert.match(String(response.headers.get('location')), /error=invalid_target/)
})

// What is a page: no answer may go to an address that is not the client's.
const pages: readonly (readonly [what: string, changed: Changed])[] = [
  ['an unknown client', { client_id: 'made-up' }],
  ['no client', { client_id: undefined }],
  ['another redirect URI', { redirect_uri: `${REDIRECT}/other` }],
  ['a redirect URI at another host', { redirect_uri: 'http://evil.example/callback' }],
]

for (const [what, changed] of pages) {
  test(`AS-AUTHZ: ${what} is a page, and never a redirect`, async (t) => {
    const { origin } = await brokered(t)
    const client = new HandClient(origin)
    await client.register()
    const page = await new Person().ask(client.authorizeUrl(changed))
    assert.deepEqual([page.status, page.headers.get('location')], [400, null])
    assert.match(await page.text(), /You are not signed in/)
    assert.match(String(page.headers.get('content-security-policy')), /frame-ancestors 'none'/)
  })
}

/** Signs a person in as far as the consent page. */
async function atConsent(client: HandClient, person: Person, changed?: Changed) {
  const end = await person.follow(
    client.authorizeUrl(changed),
    (url) =>
      person.visited.filter((each) => each.includes('/oauth/callback')).length > 0 &&
      url.includes('/oauth/consent/'),
  )
  const page = await person.ask(end.url)
  const body = await page.text()
  return { url: end.url, page, body, token: /name="token" value="([^"]+)"/.exec(body)?.[1] ?? '' }
}

const posted = (fields: Readonly<Record<string, string>>): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(fields),
})

test('the consent page says who asks, and escapes what the client calls itself', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  await client.register({ redirect_uris: [REDIRECT], client_name: '<script>alert(1)</script>' })
  const { page, body } = await atConsent(client, new Person(), { scope: 'tools unknown' })
  assert.equal(page.status, 200)
  assert.equal(page.headers.get('cache-control'), 'no-store')
  assert.match(body, /<h1>Allow a program on this computer to use 127\.0\.0\.1:\d+ as you\?/)
  assert.match(body, /&lt;script&gt;alert\(1\)/)
  assert.match(body, /signed in as<\/dt><dd>Alice, at 127\.0\.0\.1/)
  assert.match(body, /<li>tools<\/li>/)
  assert.doesNotMatch(body, /unknown/)
})

test('a denial goes back to the client as access_denied', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  await client.register()
  const person = new Person()
  const { url, token } = await atConsent(client, person)
  const denied = await person.follow(
    String((await person.ask(url, posted({ token, decision: 'deny' }))).headers.get('location')),
    (each) => each.startsWith(REDIRECT),
  )
  const answer = new URL(denied.url).searchParams
  assert.deepEqual(
    [answer.get('error'), answer.get('state'), answer.get('iss')],
    ['access_denied', 'a state & more', origin],
  )
})

test('ATK-CONSENT: the form of another sign-in, of another browser, or of nobody allows nothing', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  await client.register()
  const [alice, mallory] = [new Person('alice'), new Person('mallory')]
  const [hers, his] = [await atConsent(client, alice), await atConsent(client, mallory)]
  const decide = async (person: Person, url: string, token: string) =>
    (await person.ask(url, posted({ token, decision: 'allow' }))).status
  assert.equal(await decide(alice, hers.url, his.token), 403)
  assert.equal(await decide(alice, hers.url, ''), 403)
  assert.equal(await decide(mallory, hers.url, hers.token), 400, 'his browser did not begin it')
  assert.equal(await decide(new Person(), hers.url, hers.token), 400)
  await alice.ask(hers.url)
  assert.equal(
    await decide(alice, hers.url, hers.token),
    303,
    'a second look at the page does not change the form',
  )
  assert.equal(await decide(alice, hers.url, hers.token), 303, 'and a second click goes on like the first')
})

test('ATK-MIXUP: the answer of a provider is good in the browser that began, once', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  await client.register()
  const person = new Person()
  await atConsent(client, person)
  const callback = person.visited.find((url) => url.includes('/oauth/callback')) ?? ''
  for (const browser of [new Person(), person]) {
    const page = await browser.ask(callback)
    assert.equal(page.status, 400)
    assert.match(await page.text(), /sign_in_unknown/)
  }
})

test('two tabs of one browser both finish, and the second client needs no second sign-in', async (t) => {
  const { origin, issuer } = await brokered(t)
  const [one, other] = [new HandClient(origin), new HandClient(origin)]
  await one.register()
  await other.register({ redirect_uris: [REDIRECT], client_name: 'The other' })
  const person = new Person()
  const [first, second] = [await atConsent(one, person), await atConsent(other, person)]
  assert.equal(issuer.requests.filter((each) => each === 'POST /token').length, 1)
  for (const [client, { url, token }] of [
    [other, second],
    [one, first],
  ] as const) {
    const next = String((await person.ask(url, posted({ token, decision: 'allow' }))).headers.get('location'))
    const end = await person.follow(next, (each) => each.startsWith(REDIRECT))
    const { status } = await client.redeem(new URL(end.url).searchParams.get('code') ?? '')
    assert.equal(status, 200)
  }
})

test('a person whom the operator does not admit sees a page, and its button tells the client', async (t) => {
  const { origin } = await brokered(t, { broker: { require: { name: 'Bob' } } })
  const client = new HandClient(origin)
  await client.register()
  const person = new Person()
  const page = await person.follow(client.authorizeUrl())
  assert.equal(page.status, 403)
  assert.match(page.body, /signed in as Alice, and the operator of this server does not admit/)
  const [, action = '', token = ''] =
    /action="([^"]+)">\s*<input type="hidden" name="token" value="([^"]+)"/.exec(page.body) ?? []
  const allowed = await person.ask(origin + action, posted({ token, decision: 'allow' }))
  assert.equal(allowed.status, 400)
  const denied = await person.ask(origin + action, posted({ token, decision: 'deny' }))
  const end = await person.follow(String(denied.headers.get('location')), (url) => url.startsWith(REDIRECT))
  assert.equal(new URL(end.url).searchParams.get('error'), 'access_denied')
})

test('a client with https redirect URIs is asked about once, and again for more, and a program each time', async (t) => {
  const https = 'https://app.example.com/cb'
  const { origin } = await brokered(t, {
    broker: {
      scopes: ['tools', 'admin'],
      clients: { registration: 'listed', redirectHosts: ['app.example.com'] },
    },
  })
  const person = new Person()
  const asks = async (client: HandClient, changed?: Changed) => {
    const before = person.visited.length
    await client.signIn(person, changed)
    return person.visited.slice(before).filter((url) => url.includes('/oauth/consent/')).length > 1
  }
  const hosted = new HandClient(origin, https)
  await hosted.register()
  const program = new HandClient(origin)
  await program.register()
  assert.equal(await asks(hosted, { scope: 'tools' }), true)
  assert.equal(await asks(hosted, { scope: 'tools' }), false)
  assert.equal(await asks(hosted, { scope: 'tools admin' }), true, 'more than was allowed')
  assert.equal(await asks(hosted, { scope: 'tools', prompt: 'consent' }), true)
  assert.equal(await asks(program), true)
  assert.equal(await asks(program), true)
  const others = new Person('bob')
  const end = await others.follow(hosted.authorizeUrl({ scope: 'tools' }), (url) => url.startsWith(https))
  assert.ok(end.url.startsWith(https))
  assert.ok(
    others.visited.filter((url) => url.includes('/oauth/consent/')).length > 2,
    'another person is asked',
  )
})

test('ATK-HOST: the metadata and every address are those of the issuer, whatever host a request names', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  await client.register()
  const { request } = await import('node:http')
  const ask = (path: string) =>
    new Promise<string>((resolve, reject) => {
      const headers = {
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
      }
      request(origin + path, { headers }, (response) => {
        let text = JSON.stringify(response.headers)
        response.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text))
      })
        .on('error', reject)
        .end()
    })
  const authorize = client.authorizeUrl().slice(origin.length)
  for (const path of [
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/oauth/keys',
    authorize,
  ])
    assert.doesNotMatch(await ask(path), /evil/, path)
})

test('no stranger stores more than a bounded number of sign-ins, nor floods the endpoints', async (t) => {
  const { origin } = await brokered(t)
  const client = new HandClient(origin)
  const statuses = new Map<number, number>()
  for (let count = 0; count < 70; count++) {
    const { status, headers } = await client.register()
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status === 429) assert.ok(Number(headers.get('retry-after')) > 0)
  }
  assert.deepEqual(
    [...statuses],
    [
      [201, 60],
      [429, 10],
    ],
  )
})

test('a call passes with the token of the broker, and with no changed one', async (t) => {
  const { origin, url } = await brokered(t)
  const { access_token: token, id_token: idToken } = await new HandClient(origin).tokens()
  assert.equal(await calledWith(url, token), 200)
  const [head, body, signature = ''] = String(token).split('.')
  const changed = Buffer.from(
    JSON.stringify({ ...JSON.parse(Buffer.from(String(body), 'base64url').toString()), sub: 'mallory' }),
  ).toString('base64url')
  assert.equal(await calledWith(url, `${head}.${changed}.${signature}`), 401)
  assert.equal(await calledWith(url, idToken), 401)
})

test('the resource metadata name the broker alone, and the tokens of a provider beside it are accepted', async (t) => {
  const corp = await issuing(t)
  const beside = {
    name: 'corp',
    issuerUrl: corp.url,
    audience: 'machines',
    allowPrivateIP: true,
    advertised: false,
  }
  const { origin, url } = await brokered(t, { plugins: [{ use: 'auth/jwt', with: beside }] })
  const metadata = Object(await (await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`)).json())
  assert.deepEqual(metadata.authorization_servers, [origin])
  assert.equal(await calledWith(url, await corp.jwt({ aud: 'machines' })), 200)
})
