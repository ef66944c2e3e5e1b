import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { opened } from '#kit/listening.js'
import { Person } from '#kit/person.js'
import { authority } from '#kit/tls.js'
import { brokered, HandClient, REDIRECT } from './brokered.js'

const LOCAL = 'http://127.0.0.1:3000/cb'

// What is asked for, what is registered of it, and with which settings.
const registrations: readonly (readonly [
  what: string,
  asked: readonly unknown[],
  kept: readonly string[],
  clients?: object,
])[] = [
  [
    'loopback on any port',
    [LOCAL, 'http://localhost/cb', 'http://[::1]:9/cb'],
    [LOCAL, 'http://localhost/cb', 'http://[::1]:9/cb'],
  ],
  ['a foreign host beside loopback', ['https://evil.example/cb', LOCAL], [LOCAL]],
  ['plain http elsewhere', ['http://app.example.com/cb'], []],
  [
    'a host of the operator',
    ['https://app.example.com/cb'],
    ['https://app.example.com/cb'],
    { registration: 'listed', redirectHosts: ['app.example.com'] },
  ],
  [
    'another port of that host',
    ['https://app.example.com:444/cb'],
    [],
    { registration: 'listed', redirectHosts: ['app.example.com'] },
  ],
  [
    'a host below a pattern',
    ['https://a.b.example.net/cb'],
    ['https://a.b.example.net/cb'],
    { registration: 'listed', redirectHosts: ['*.example.net'] },
  ],
  [
    'the host of the pattern itself',
    ['https://example.net/cb', 'https://notexample.net/cb'],
    [],
    { registration: 'listed', redirectHosts: ['*.example.net'] },
  ],
  [
    'any https host with open',
    ['https://any.example/cb'],
    ['https://any.example/cb'],
    { registration: 'open' },
  ],
  [
    'a hosted client that is known',
    ['https://claude.ai/api/mcp/auth_callback'],
    ['https://claude.ai/api/mcp/auth_callback'],
  ],
  ['a known host with another path', ['https://claude.ai/api/mcp/auth_callback2'], []],
  [
    'a connector of a known client, and two segments below it',
    ['https://chatgpt.com/connector/oauth/OUbdUMlL15Ct', 'https://chatgpt.com/connector/oauth/a/b'],
    ['https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'],
  ],
  ['a known client where known is off', ['https://claude.ai/api/mcp/auth_callback'], [], { known: false }],
  [
    'the scheme of a known program',
    ['cursor://anysphere.cursor-mcp/oauth/callback'],
    ['cursor://anysphere.cursor-mcp/oauth/callback'],
  ],
  ['an unknown scheme', ['evil://callback'], [], { registration: 'open' }],
  [
    'schemes that run code',
    ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd'],
    [],
    { registration: 'open' },
  ],
  ['a fragment', [`${LOCAL}#x`], []],
  ['no text', [7, null, {}], []],
]

for (const [what, asked, kept, clients] of registrations) {
  test(`AS-DCR: of ${what} the broker registers ${kept.length} of ${asked.length} redirect URIs`, async (t) => {
    const { origin } = await brokered(t, { broker: { clients } })
    const { status, body, headers } = await new HandClient(origin).register({
      redirect_uris: asked,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['implicit'],
    })
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('access-control-allow-origin'), '*')
    if (kept.length === 0) return assert.deepEqual([status, body['error']], [400, 'invalid_redirect_uri'])
    assert.equal(status, 201)
    assert.deepEqual(body['redirect_uris'], kept)
    assert.equal(body['token_endpoint_auth_method'], 'none')
    assert.deepEqual(body['grant_types'], ['authorization_code', 'refresh_token'])
    for (const secret of ['client_secret', 'registration_access_token']) assert.ok(!(secret in body), secret)
    assert.ok(String(body['client_id']).length <= 2000)
  })
}

test('a registration that is malformed, too long or too large is refused, and closed registration is not there', async (t) => {
  const { origin } = await brokered(t)
  const register = async (body: string) =>
    (
      await fetch(`${origin}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    ).status
  assert.equal(await register('{'), 400)
  assert.equal(await register('[]'), 400)
  assert.equal(await register('{}'), 400)
  assert.equal(
    await register(JSON.stringify({ redirect_uris: Array.from({ length: 11 }, () => LOCAL) })),
    400,
  )
  assert.equal(await register(JSON.stringify({ redirect_uris: [`${LOCAL}/${'x'.repeat(3000)}`] })), 400)
  assert.equal(await register(JSON.stringify({ redirect_uris: [LOCAL], x: 'x'.repeat(70_000) })), 413)

  const closed = await brokered(t, { broker: { clients: { registration: 'off' } } })
  assert.equal((await new HandClient(closed.origin).register()).status, 404)
  const metadata = Object(
    await (await fetch(`${closed.origin}/.well-known/oauth-authorization-server`)).json(),
  )
  assert.ok(!('registration_endpoint' in metadata))
})

test('a registration outlives a restart with the same key, stores nothing, and is unknown with another key', async (t) => {
  const { origin, list, home, running } = await brokered(t)
  const client = new HandClient(origin)
  await client.register()
  await running.stop(0)
  const again = await serving(t, list, { folder: home })
  assert.ok((await client.signIn()).get('code'))
  await again.stop(0)
  writeFileSync(join(home, 'broker.key'), Buffer.alloc(32, 5).toString('base64'))
  await serving(t, list, { folder: home })
  const page = await new Person().ask(client.authorizeUrl())
  assert.equal(page.status, 400)
  assert.match(await page.text(), /Let it forget this server and connect again/)
  const { status, body } = await client.refresh('x')
  assert.deepEqual([status, body['error']], [401, 'invalid_client'], 'so that the client registers anew')
})

test('a client of a metadata document signs in, and its document decides where codes go', async (t) => {
  const ca = authority(t)
  const documents = new Map<string, object>()
  const host = createServer(ca.issue(['localhost']), (request, response) =>
    response.end(JSON.stringify(documents.get(request.url ?? ''))),
  )
  const { port } = await opened(t, host)
  const base = `https://localhost:${port}`
  documents.set('/good', { client_id: `${base}/good`, client_name: 'Documented', redirect_uris: [REDIRECT] })
  documents.set('/other', { client_id: `${base}/good`, redirect_uris: [REDIRECT] })
  documents.set('/secret', { client_id: `${base}/secret`, redirect_uris: [REDIRECT], client_secret: 'x' })
  documents.set('/scheme', { client_id: `${base}/scheme`, redirect_uris: ['evil://x'] })
  documents.set('/long', { client_id: `${base}/long`, redirect_uris: [REDIRECT], x: 'x'.repeat(70_000) })
  const trust = { allowPrivateIP: true, caCertPath: ca.file }
  const { origin } = await brokered(t, {
    broker: { clients: { documents: [`localhost:${port}`], ...trust } },
  })
  const client = new HandClient(origin)
  client.id = `${base}/good`
  const answer = await client.redeem((await client.signIn()).get('code') ?? '')
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  for (const path of ['/other', '/secret', '/scheme', '/long', '/missing']) {
    client.id = base + path
    const page = await new Person().ask(
      client.authorizeUrl({ redirect_uri: path === '/scheme' ? 'evil://x' : REDIRECT }),
    )
    assert.equal(page.status, 400, path)
    assert.match(String(page.headers.get('content-type')), /^text\/html/)
  }

  const strict = await brokered(t, { broker: { clients: { documents: ['*.example.com'], ...trust } } })
  const stranger = new HandClient(strict.origin)
  stranger.id = `${base}/good`
  assert.equal((await new Person().ask(stranger.authorizeUrl())).status, 400, 'its host is not in the list')
})

test('a client that the operator wrote down signs in with its secret, which another secret does not', async (t) => {
  const redirect = 'https://app.example.com/cb'
  const home = folder(t, { secret: 'a secret of the client' })
  const given = {
    clientId: 'app',
    name: 'The app',
    redirectUris: [redirect],
    clientSecretFile: join(home, 'secret'),
  }
  const { origin } = await brokered(t, { broker: { clients: { registration: 'off', given: [given] } } })
  const client = new HandClient(origin, redirect)
  client.id = 'app'
  const redeem = async (secret: string) => {
    const code = (await client.signIn()).get('code') ?? ''
    const response = await fetch(`${origin}/oauth/token`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`app:${encodeURIComponent(secret)}`).toString('base64')}`,
      },
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirect,
        code_verifier: client.verifier,
      }),
    })
    return response.status
  }
  assert.equal(await redeem('a secret of the client'), 200)
  assert.equal(await redeem('another'), 401)
  assert.equal(
    (await client.redeem((await client.signIn()).get('code') ?? '')).status,
    401,
    'without its secret',
  )
})
