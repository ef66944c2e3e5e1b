import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { mcpTarget } from 'sallyport/testing'
import { serving } from '#kit/booted.js'
import { PAGES, realIssuer } from '#kit/oidc-provider.js'
import { Person } from '#kit/person.js'

const AUDIENCE = 'urn:example:tools'
const REDIRECT = 'http://127.0.0.1:9/callback'

/**
 * The OAuth provider of an application for the official client: it sends the user to the issuer, and returns a code.
 */
class Application implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT
  readonly clientMetadata = { redirect_uris: [REDIRECT] }
  /** The scopes that were requested, in order. */
  readonly asked: (string | null)[] = []
  private saved: OAuthTokens | undefined
  private verifier = ''
  code = ''

  clientInformation = () => ({ client_id: PAGES.clientId, client_secret: PAGES.clientSecret })
  tokens = () => this.saved
  saveTokens(tokens: OAuthTokens): void {
    this.saved = tokens
  }
  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier
  }
  codeVerifier = () => this.verifier
  async redirectToAuthorization(url: URL): Promise<void> {
    this.asked.push(url.searchParams.get('scope'))
    const { url: back } = await new Person().follow(url.href, (each) => each.startsWith(REDIRECT))
    this.code = new URL(back).searchParams.get('code') ?? ''
  }

  /** Runs the operation, and once more after the user has signed in. */
  async signingIn<T>(work: () => Promise<T>, transport: () => StreamableHTTPClientTransport): Promise<T> {
    try {
      return await work()
    } catch (error) {
      assert.ok(error instanceof UnauthorizedError, String(error))
      await transport().finishAuth(this.code)
      return work()
    }
  }
}

const jsonOf = async (response: Response): Promise<Readonly<Record<string, unknown>>> =>
  Object(await response.json())

async function guarded(t: TestContext) {
  const people = { redirectUri: REDIRECT, audience: AUDIENCE, scopes: 'read tools:count tools:delete' }
  const issuer = await realIssuer(t, { people })
  const target = await mcpTarget(t)
  const rules = [
    { allow: ['add'] },
    { allow: ['count'], scopes: ['tools:count'] },
    { allow: ['fail'], scopes: ['tools:delete'], when: { sub: 'nobody' } },
  ]
  const settings = ProxySettings.parse({
    targetUri: target.url,
    oidcIssuer: issuer.url,
    oidcAudience: AUDIENCE,
    oidcAllowPrivateIp: true,
    oidcScopes: ['read'],
    plugins: [{ use: 'policy/tools', with: { rules } }],
  })
  const list = proxy(settings).map((entry) =>
    'use' in entry && entry.use === 'discovery/resource'
      ? { ...entry, with: { ...Object(entry.with), requiredScopes: ['read'] } }
      : entry,
  )
  const { addresses } = await serving(t, list)
  return { target, url: `${addresses.main}/mcp` }
}

test('RS-29: the official client gets a challenge with all scopes of a tool, gets a token with them, and calls the tool', async (t) => {
  const { url, target } = await guarded(t)
  const application = new Application()
  let transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: application })
  const client = new Client({ name: 'test', version: '1' })
  t.after(() => client.close())
  await application.signingIn(
    async () => {
      transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: application })
      // The SDK's class does not fit its own interface under exactOptionalPropertyTypes.
      await client.connect(transport as never)
    },
    () => transport,
  )
  assert.deepEqual(application.asked, ['read'])

  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['add', 'count'],
  )
  const called = () => client.callTool({ name: 'count', arguments: { to: 3 } })
  const before = target.asked.length
  const { content } = await application.signingIn(called, () => transport)

  assert.deepEqual(content, [{ type: 'text', text: '3' }])
  assert.deepEqual(application.asked, ['read', 'read tools:count'])
  assert.equal(target.asked.slice(before).filter(({ method }) => method === 'POST').length, 1)
})

test('RS-29, RS-03: a missing scope causes one challenge with all scopes and the metadata URL, and never with scopes that would not help', async (t) => {
  const { url, target } = await guarded(t)
  const application = new Application()
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: application })
  const client = new Client({ name: 'test', version: '1' })
  await assert.rejects(client.connect(transport as never), UnauthorizedError)
  await transport.finishAuth(application.code)
  const before = target.asked.length

  const call = (name: string) =>
    fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${application.tokens()?.access_token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { name } }),
    })
  const lacking = await call('count')
  assert.equal(lacking.status, 403)
  const challenge = lacking.headers.get('www-authenticate') ?? ''
  assert.equal(challenge.match(/Bearer /g)?.length, 1)
  assert.match(challenge, /error="insufficient_scope"/)
  assert.match(challenge, / scope="read tools:count"/)
  const [, metadata = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? []
  assert.equal((await jsonOf(await fetch(metadata)))['resource'], url)
  assert.equal((await jsonOf(lacking))['id'], 'a')

  const useless = await call('fail')
  assert.equal(useless.status, 403)
  assert.doesNotMatch(useless.headers.get('www-authenticate') ?? '', /scope/)
  assert.equal(target.asked.length, before)
})
