import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { closedPort, listening } from '#kit/listening.js'
import { oidcSettings } from '#kit/oidc-settings.js'
import { startAuthorizationServer } from '../../plugins/credential/oauth/authorization-server.js'
import { HandClient } from '../../plugins/issuer/brokered.js'
import {
  ask,
  lookAtEdge,
  lookTwice,
  notes,
  own,
  type Running,
  SECRET,
  tunnelled,
  withoutDiscovery,
} from '../third-party-programs.js'

/** A target that answers with the headers of the request, as what a JSON-RPC call returns. */
const target = async (t: TestContext): Promise<string> => {
  const origin = await listening(t, (request, response) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: request.headers })
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  return `${origin}/mcp`
}

const ADDED = {
  remoteAuthBearerToken: SECRET,
  remoteForwardHeaders: { 'X-Fixed': SECRET },
  remoteForwardHeadersSecret: { 'X-Stored': 'own-secret' },
}

function assertAdded(headers: Readonly<Record<string, string>>): void {
  assert.equal(headers['authorization'], 'Bearer own', 'Credential')
  assert.equal(headers['x-own'], 'added', 'HeaderSource')
  assert.equal(headers['x-stored'], 'of the store', 'SecretStore')
  assert.equal(headers['x-fixed'], SECRET)
}

test('a proxy with plugins of a third party', async (t) => {
  const { issuer, keys, token } = await withoutDiscovery(t)
  const settings = {
    targetUri: await target(t),
    internalAddress: '127.0.0.1:0',
    port: 1,
    ...oidcSettings(issuer),
    ...ADDED,
  }
  const look = async (running: Running): Promise<void> => {
    const url = await running.started.ready()
    await lookAtEdge(running, '/mcp', token)
    assertAdded(JSON.parse((await ask(`${url}/mcp`, own)).text).result)
    const headers = { ...own, 'content-type': 'application/json' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    assert.equal((await fetch(`${url}/mcp`, { method: 'POST', headers, body })).status, 200)
    assert.match(notes(running.home), /^Policy judged tools\/list$/m)
    assert.equal((await ask(`${url}/open`)).status, 200, 'PublicPath')
    const challenge = String((await ask(`${url}/mcp`)).headers['www-authenticate'])
    assert.match(challenge, /"https:\/\/address\.example\//, 'PublicAddress')
  }
  const words = ['proxy', 'mine']
  await lookTwice(t, 'proxy', { words, settings, keys, look })
})

/** A sign-in at the first start; from then on the login is the one that was kept. */
const login = async (t: TestContext) => {
  const server = await startAuthorizationServer(t)
  const settings = {
    targetUri: server.target,
    remoteAuth: true,
    remoteAuthSkipBrowser: true,
    remoteAuthCallbackPort: 0,
  }
  const signIn = async ({ started }: Running): Promise<void> => {
    if (server.times('/authorize') > 0) return
    await fetch(await started.until(/(?<=^Open this URL to sign in: )\S+$/m))
  }
  const assertKept = ({ home }: Running): void => {
    const clients = server.at('/authorize').map(({ query }) => query.get('client_id'))
    assert.deepEqual(clients, ['own-client'], 'ClientRegistrar')
    assert.match(readFileSync(join(home, 'state.json'), 'utf8'), /"oauth\/session\//, 'StateStore')
  }
  return { settings, signIn, assertKept }
}

test('a proxy that signs in with the store, the client and the tunnel of a third party', async (t) => {
  const { settings, signIn, assertKept } = await login(t)
  const guarded = { oidcIssuer: 'https://idp.example.com', oidcAudience: 'mcp' }
  const look = async (running: Running): Promise<void> => {
    const url = `${await running.started.ready()}/mcp`
    await signIn(running)
    const closed = await ask(url)
    assert.deepEqual([closed.status, closed.headers['www-authenticate']], [401, 'Own realm="third party"'])
    assert.equal((await ask(url, own)).status, 200, running.started.output.stderr)
    assert.equal((await ask(url, { ...own, host: 'tunnel.example' })).status, 200, 'Tunnel')
    assert.equal((await ask(url, { ...own, host: 'another.example' })).status, 403)
    assertKept(running)
  }
  const words = ['proxy', 'mine']
  const written = { ...settings, ...guarded }
  await lookTwice(t, 'proxy with a login', { words, settings: written, further: tunnelled, look })
})

/** Sends a message to standard input, and returns the answer. */
async function call({ started, input }: Running): Promise<{ readonly result: Record<string, string> }> {
  input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })}\n`)
  return eventually(() => {
    const [line] = /^\{.*\}$/m.exec(started.output.stdout) ?? []
    return line === undefined ? undefined : JSON.parse(line)
  }, 60)
}

test('standard input with plugins of a third party', async (t) => {
  const settings = { targetUri: await target(t), remoteForwardClaims: { 'X-User': 'sub' }, ...ADDED }
  const look = async (running: Running): Promise<void> => {
    const { result } = await call(running)
    assertAdded(result)
    assert.equal(result['x-user'], 'friend', 'Authenticator')
    for (const line of [
      'Guard asked',
      'Limiter .*friend.*',
      'Policy judged tools/list',
      'AuditSink called',
      'Revocation asked about friend',
      'AccessSink 200',
      'Telemetry \\w+',
      'Tracer allowed',
    ])
      assert.match(notes(running.home), new RegExp(`^${line}$`, 'm'))
  }
  const words = ['proxy', 'stdio', 'mine']
  await lookTwice(t, 'proxy stdio', { words, settings, look })
})

test('standard input that signs in with the store and the client of a third party', async (t) => {
  const { settings, signIn, assertKept } = await login(t)
  const look = async (running: Running): Promise<void> => {
    await signIn(running)
    await call(running)
    assertKept(running)
  }
  const words = ['proxy', 'stdio', 'mine']
  await lookTwice(t, 'proxy stdio with a login', { words, settings, look })
})

test('a proxy with the login and the store of a third party', async (t) => {
  const { port, origin } = new URL(await closedPort())
  const settings = {
    targetUri: await target(t),
    port: Number(port),
    resourceUrl: `${origin}/mcp`,
    broker: { login: { issuerUrl: 'https://idp.example.com', clientId: 'x' }, keyFile: './broker.key' },
  }
  const look = async ({ started, home }: Running): Promise<void> => {
    await started.ready()
    const { access_token: token } = await new HandClient(origin).tokens()
    const headers = { authorization: `Bearer ${token}` }
    assert.equal((await ask(`${origin}/mcp`, headers)).status, 200, 'LoginProvider')
    assert.match(readFileSync(join(home, 'state.json'), 'utf8'), /"broker\/login\//, 'StateStore')
  }
  await lookTwice(t, 'proxy with a broker', { words: ['proxy', 'mine'], settings, look })
})

test('a proxy that exchanges the tokens that a third party holds of callers', async (t) => {
  const exchange = await listening(t, (request, response) => {
    void text(request).then((body) => {
      const token = `exchanged-${new URLSearchParams(body).get('subject_token')}`
      const issued = 'urn:ietf:params:oauth:token-type:access_token'
      const answer = { access_token: token, token_type: 'Bearer', issued_token_type: issued, expires_in: 60 }
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })
  const settings = {
    targetUri: await target(t),
    tokenExchangeUrl: `${exchange}/token`,
    tokenExchangeAllowPrivateIp: true,
  }
  const look = async ({ started }: Running): Promise<void> => {
    const response = await ask(`${await started.ready()}/mcp`, own)
    assert.equal(JSON.parse(response.text).result.authorization, 'Bearer exchanged-held', 'CallerTokens')
  }
  await lookTwice(t, 'proxy with an exchange', { words: ['proxy', 'mine'], settings, look })
})
