import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { decodeJwt, type JWTPayload } from 'jose'
import { planList } from 'sallyport/embed'
import { contextFor, serving } from '#kit/booted.js'
import { closedPort } from '#kit/listening.js'

const REDIRECT = 'http://127.0.0.1:49999/callback'
const RESOURCE = 'http://127.0.0.1:8080/sample/mcp'

interface Page {
  readonly url: string
  readonly html: string
  readonly policy: string | null
}

/** A browser with cookies, which follows redirects up to that to the client. */
class Browser {
  private readonly cookies = new Map<string, string>()

  async visit(url: string, form?: Readonly<Record<string, string>>): Promise<Page> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form !== undefined && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      this.cookies.set(name, value)
    }
    const next = response.headers.get('location')
    const policy = response.headers.get('content-security-policy')
    if (next === null) return { url, html: await response.text(), policy }
    const target = new URL(next, url).href
    return target.startsWith(REDIRECT) ? { url: target, html: '', policy } : this.visit(target)
  }

  submit(page: Page, fields: Readonly<Record<string, string>>) {
    const [, action = ''] = /<form[^>]*action="([^"]+)"/.exec(page.html) ?? assert.fail(page.html)
    const [, prompt = ''] = /name="prompt" value="(\w+)"/.exec(page.html) ?? []
    return this.visit(new URL(action, page.url).href, { prompt, ...fields })
  }
}

async function json(url: string, init: RequestInit = {}): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, init)
  const text = await response.text()
  assert.ok(response.ok, text)
  return JSON.parse(text)
}

test('a client that registers itself can sign in any user, and gets a token for the resource that it names', async (t) => {
  const address = new URL(await closedPort()).host
  const issuer = `http://${address}`
  const lifetime = 7
  await serving(t, [{ use: 'dev/issuer', with: { address, clientId: 'a', clientSecret: 'b', lifetime } }])
  const metadata = await json(`${issuer}/.well-known/openid-configuration`)
  assert.equal(metadata['issuer'], issuer)

  const registered = await json(String(metadata['registration_endpoint']), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      redirect_uris: [REDIRECT],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      client_name: '<i>test</i>',
      scope: 'openid mcp',
    }),
  })
  const verifier = randomBytes(32).toString('base64url')
  const asked = {
    response_type: 'code',
    client_id: String(registered['client_id']),
    redirect_uri: REDIRECT,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: RESOURCE,
    scope: 'openid mcp',
    state: 'x',
  }
  const browser = new Browser()
  const login = await browser.visit(
    `${String(metadata['authorization_endpoint'])}?${new URLSearchParams(asked)}`,
  )
  const consent = await browser.submit(login, { login: 'ada', password: 'anything' })
  for (const { html, policy } of [login, consent]) {
    assert.match(policy ?? '', /^default-src 'none';/)
    assert.doesNotMatch(html, /@import|<i>/)
    assert.match(html, /<p>Client: &#60;i&#62;test&#60;\/i&#62;<\/p>/)
  }
  const back = await browser.submit(consent, {})
  const code = new URL(back.url).searchParams.get('code') ?? assert.fail(back.url + back.html)

  const { access_token: token, id_token: idToken } = await json(String(metadata['token_endpoint']), {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT,
      client_id: asked.client_id,
      code_verifier: verifier,
      resource: RESOURCE,
    }),
  })
  const { aud, sub, iss } = decodeJwt(String(token))
  assert.deepEqual({ aud, sub, iss }, { aud: RESOURCE, sub: 'ada', iss: issuer })

  // Its option is that of access tokens alone.
  const lifetimeOf = ({ exp = 0, iat = 0 }: JWTPayload): number => exp - iat
  assert.equal(lifetimeOf(decodeJwt(String(token))), lifetime)
  assert.equal(lifetimeOf(decodeJwt(String(idToken))), 3600)
})

test('the identity provider writes nothing to stdout', async (t) => {
  const lines: string[] = []
  for (const method of ['info', 'warn'] as const)
    t.mock.method(console, method, (line: string) => lines.push(line))
  const address = new URL(await closedPort()).host
  await serving(t, [{ use: 'dev/issuer', with: { address, clientId: 'a', clientSecret: 'b' } }])

  const response = await fetch(`http://${address}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('a:b')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: RESOURCE }),
  })
  assert.equal(response.status, 200)
  assert.deepEqual(lines, [])
})

test('no client can have a code sent to another machine', async (t) => {
  const address = new URL(await closedPort()).host
  const entry = { use: 'dev/issuer', with: { address, clientId: 'a', clientSecret: 'b' } }
  await serving(t, [entry])
  const register = async (...uris: string[]) => {
    const response = await fetch(`http://${address}/reg`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        redirect_uris: uris,
        grant_types: ['authorization_code'],
        response_types: ['code'],
      }),
    })
    await response.body?.cancel()
    return response.status
  }
  for (const uri of ['https://evil.example/cb', 'http://evil.example/cb', 'https://127.0.0.1.evil.example/'])
    assert.deepEqual([await register(uri), await register(REDIRECT, uri)], [400, 400], uri)
  for (const uri of [REDIRECT, 'http://localhost:1/cb', 'http://[::1]:1/cb'])
    assert.equal(await register(uri), 201, uri)

  const outside = { ...entry, with: { ...entry.with, redirectUri: 'https://evil.example/cb' } }
  await assert.rejects(planList([outside], contextFor({})), /expected a URL of this machine/)
})
