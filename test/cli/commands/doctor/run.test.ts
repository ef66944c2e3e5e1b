import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { issuing } from 'sallyport/testing'
import { planOf } from '#cli/config/all-problems.js'
import { readList } from '#cli/config/read-list.js'
import { examine } from '#cli/tools/doctor/examine.js'
import type { Finding } from '#cli/tools/findings/finding-list.js'
import { connectProxy } from '#kit/connect-proxy.js'
import { folder } from '#kit/folder.js'
import { closedPort, listening } from '#kit/listening.js'
import { realIssuer } from '#kit/oidc-provider.js'
import { program } from '#kit/program.js'
import { startedProgram } from '#kit/started-program.js'
import { authority, tlsListening } from '#kit/tls.js'

async function doctor(t: TestContext, argv: readonly string[]) {
  const looking = program(t, ['doctor', ...argv, '--json'])
  const code = await looking.ended()
  assert.equal(looking.output.stderr, '')
  const findings: Finding[] = JSON.parse(looking.output.stdout)
  return { code, findings }
}

const configOf = (provider: object) => ({
  auth: { oauth: { resourceUrl: 'http://127.0.0.1:9/', providers: [{ ...provider }] } },
})

/** The same without a process of its own. */
async function looked(
  t: TestContext,
  config: object,
  { files = {}, timeout }: { files?: Readonly<Record<string, string>>; timeout?: number } = {},
): Promise<{ readonly findings: readonly Finding[] }> {
  const home = folder(t, { ...files, 'config.json': JSON.stringify(config) })
  const planned = await planOf(await readList(join(home, 'config.json'), process.env))
  assert.ok('plan' in planned, JSON.stringify(planned))
  return { findings: await examine(planned.plan, home, timeout) }
}

const provider = (t: TestContext, settings: object) => looked(t, configOf(settings))
const target = (t: TestContext, uri: string) => looked(t, [{ use: 'forward/http', with: { target: uri } }])

const faultsOf = ({ findings }: { findings: readonly Finding[] }) =>
  findings.filter(({ state }) => state === 'wrong').map(({ code }) => code)

test('a working provider is ok, and a registry that is not running is only a warning', async (t) => {
  const issuer = await issuing(t)
  const introspection = { introspectionUrl: issuer.introspectionUrl, clientId: 'c', clientSecret: 's' }
  const config = configOf({ ...issuer.provider, ...introspection })
  const home = folder(t, { 'registry.json': JSON.stringify(config) })
  const { code, findings } = await doctor(t, ['--config', join(home, 'registry.json')])
  assert.equal(code, 0, JSON.stringify(findings))
  assert.deepEqual(
    findings.filter(({ state }) => state === 'ok').map(({ check }) => check),
    ['DNS', 'TCP', 'clock', 'discovery', 'issuer', 'keys', 'introspection', 'DNS'],
  )
  assert.deepEqual(
    findings.filter(({ state }) => state === 'warning').map(({ code: each }) => each),
    ['TCP_REFUSED'],
  )
})

const good = { name: 'corp', audience: 'r', allowPrivateIP: true }

test('a name that does not resolve is named', async (t) => {
  // Longer than a label may be, so no name server is asked.
  const issuerUrl = `https://${'a'.repeat(64)}.example`
  assert.deepEqual(faultsOf(await provider(t, { ...good, issuerUrl })), ['DNS_FAILED'])
})

test('a port where nothing listens is named', async (t) => {
  const found = await provider(t, { ...good, issuerUrl: await closedPort() })
  assert.deepEqual(faultsOf(found), ['TCP_REFUSED'])
})

test('a private address that was not allowed is named, and gets no request', async (t) => {
  const issuer = await issuing(t)
  const config = configOf({ ...issuer.provider, allowPrivateIP: false })
  const home = folder(t, { 'config.json': JSON.stringify(config) })
  const planned = await planOf(await readList(join(home, 'config.json'), process.env))
  assert.ok('problems' in planned)
  assert.match(planned.problems.map(({ place }) => place).join(), /allowPrivateIP/)
  assert.equal(issuer.asked.length, 0)
})

test('an authority that is not trusted is named, and with its file everything is ok', async (t) => {
  const ca = authority(t)
  const issuer = await issuing(t, { tls: ca.issue(['localhost']) })
  const found = await provider(t, issuer.provider)
  assert.deepEqual(faultsOf(found), ['TLS_UNTRUSTED'])
  assert.match(found.findings.find(({ check }) => check === 'TLS')?.detail ?? '', /"test authority"/)
  assert.deepEqual(faultsOf(await provider(t, { ...issuer.provider, caCertPath: ca.file })), [])
})

test('a certificate for another host and an expired certificate are named', async (t) => {
  const ca = authority(t)
  const other = await tlsListening(t, ca.issue(['elsewhere.example']), (_request, response) => response.end())
  const old = await tlsListening(t, ca.issue(['localhost'], -1), (_request, response) => response.end())
  const settings = { ...good, caCertPath: ca.file }
  const looks = [other, old].map((port) =>
    provider(t, { ...settings, issuerUrl: `https://localhost:${port}` }),
  )
  assert.deepEqual((await Promise.all(looks)).map(faultsOf), [['TLS_NAME'], ['TLS_EXPIRED']])
})

test('an issuer that differs by a slash is named', async (t) => {
  const issuer = await issuing(t)
  const found = await provider(t, { ...issuer.provider, issuerUrl: `${issuer.url}/` })
  assert.deepEqual(faultsOf(found), ['ISSUER_MISMATCH'])
})

test('a provider without metadata is named', async (t) => {
  const issuerUrl = await listening(t, (_request, response) => response.writeHead(404).end())
  assert.deepEqual(faultsOf(await provider(t, { ...good, issuerUrl })), ['DISCOVERY_FAILED'])
})

test('a key set without keys is named', async (t) => {
  const issuer = await issuing(t)
  issuer.keys = []
  assert.deepEqual(faultsOf(await provider(t, issuer.provider)), ['KEYS_MISSING'])
})

test('credentials that introspection refuses are named, and no secret is shown', async (t) => {
  const issuer = await issuing(t)
  issuer.faults.set('/introspect', (_request, response) => response.writeHead(401).end())
  const clientSecret = 'kept-to-ourselves'
  const found = await provider(t, {
    ...issuer.provider,
    introspectionUrl: issuer.introspectionUrl,
    clientId: 'c',
    clientSecret,
  })
  assert.deepEqual(faultsOf(found), ['INTROSPECTION_REFUSED'])
  assert.equal(JSON.stringify(found.findings).includes(clientSecret), false)
})

test('a clock that is far off is named', async (t) => {
  const issuer = await issuing(t)
  const date = new Date(Date.now() - 600_000).toUTCString()
  issuer.faults.set('/.well-known/openid-configuration', (_request, response) => {
    const metadata = { issuer: issuer.url, jwks_uri: `${issuer.origin}/jwks` }
    response.writeHead(200, { date }).end(JSON.stringify(metadata))
  })
  assert.deepEqual(faultsOf(await provider(t, issuer.provider)), ['CLOCK_SKEW'])
})

test('a target that does not speak MCP there is named', async (t) => {
  const origin = await listening(t, (_request, response) => response.writeHead(404).end())
  const found = await doctor(t, ['mcp', '--target-uri', origin])
  assert.deepEqual([found.code, faultsOf(found)], [1, ['TARGET_FAILED']])
})

test('a target that redirects is distinguished from one that fails', async (t) => {
  const origin = await listening(t, ({ url = '' }, response) =>
    response.writeHead(307, { location: `${url}/` }).end(),
  )
  assert.deepEqual(faultsOf(await target(t, `${origin}/mcp`)), ['TARGET_REDIRECTS'])
})

test('a target that refuses its own name is distinguished from one that refuses every request', async (t) => {
  const rule: RequestListener = ({ headers: { host = '' } }, response) =>
    response.writeHead(host.startsWith('localhost') ? 200 : 403).end()
  assert.deepEqual(faultsOf(await target(t, await listening(t, rule))), ['HOST_REFUSED'])
  const nobody = await listening(t, (_request, response) => response.writeHead(403).end())
  assert.deepEqual(faultsOf(await target(t, nobody)), ['TARGET_FAILED'])
})

/** A target that wants a token, with this at its well-known places; `ORIGIN` in it is its own. */
async function closed(t: TestContext, documents: Readonly<Record<string, object>>): Promise<string> {
  let origin = ''
  origin = await listening(t, ({ url = '' }, response) => {
    const document = documents[url]
    if (document !== undefined) response.end(JSON.stringify(document).replaceAll('ORIGIN', origin))
    else response.writeHead(url === '/mcp' ? 401 : 404, { 'www-authenticate': 'Bearer' }).end()
  })
  return `${origin}/mcp`
}

const place = '/.well-known/oauth-protected-resource/mcp'
const server = '/.well-known/oauth-authorization-server'
const resource = { resource: 'ORIGIN/mcp', authorization_servers: ['ORIGIN'] }

test('doctor follows the discovery of a client to its end', async (t) => {
  const uri = await closed(t, { [place]: resource, [server]: { issuer: 'ORIGIN' } })
  const { findings } = await target(t, uri)
  assert.deepEqual(
    findings.map(({ check }) => check),
    ['DNS', 'TCP', 'target', 'metadata', 'authorization server', 'PKCE', 'registration'],
  )
})

test('each step at which the discovery of a client fails is named', async (t) => {
  const ways: readonly (readonly [string, Readonly<Record<string, object>>])[] = [
    ['METADATA_MISSING', {}],
    ['RESOURCE_MISMATCH', { [place]: { ...resource, resource: 'https://elsewhere.example' } }],
    ['SERVER_MISSING', { [place]: { resource: 'ORIGIN/mcp' } }],
    ['SERVER_FAILED', { [place]: resource }],
    ['SERVER_MISMATCH', { [place]: resource, [server]: { issuer: 'ORIGIN/' } }],
  ]
  const looks = ways.map(async ([, documents]) => faultsOf(await target(t, await closed(t, documents))))
  assert.deepEqual(
    await Promise.all(looks),
    ways.map(([code]) => [code]),
  )
})

const signingIn = (t: TestContext, uri: string, more: object = {}, client = false) =>
  looked(t, [
    { use: 'state/memory' },
    ...(client ? [{ use: 'registrar/given', with: { clientId: 'c' } }] : [{ use: 'registrar/dynamic' }]),
    { use: 'credential/oauth', with: { target: uri, callbackPort: 0, ...more } },
    { use: 'forward/http', with: { target: uri } },
  ])

test('a callback port that cannot be used is named: an error when the client is registered with it', async (t) => {
  const taken = Number(new URL(await listening(t, () => {})).port)
  const uri = await listening(t, (_request, response) => response.end('{}'))
  const fixed = await signingIn(t, uri, { callbackPort: taken, callbackPortFixed: true })
  assert.deepEqual(faultsOf(fixed), ['CALLBACK_BUSY'])
  const free = await signingIn(t, uri, { callbackPort: taken })
  assert.deepEqual(faultsOf(free), [])
  assert.ok(free.findings.some(({ code, state }) => code === 'CALLBACK_BUSY' && state === 'warning'))
})

test('the redirect URI of a registered client is shown', async (t) => {
  const { port } = new URL(await closedPort())
  const uri = await listening(t, (_request, response) => response.end('{}'))
  const found = async (client: boolean) => {
    const { findings } = await signingIn(t, uri, { callbackPort: Number(port) }, client)
    return findings.find(({ check }) => check === 'callback')?.detail
  }
  assert.match(String(await found(true)), new RegExp(`http://127\\.0\\.0\\.1:${port}/callback `))
  assert.doesNotMatch(String(await found(false)), /registered/)
})

test('an authorization server at which the gateway cannot sign in is named', async (t) => {
  const S256 = { code_challenge_methods_supported: ['S256'] }
  const registering = { registration_endpoint: 'ORIGIN/register' }
  const found = async (metadata: object, client = false) => {
    const uri = await closed(t, { [place]: resource, [server]: { issuer: 'ORIGIN', ...metadata } })
    return faultsOf(await signingIn(t, uri, {}, client))
  }
  assert.deepEqual(await found({ ...S256, ...registering }), [])
  assert.deepEqual(await found(S256), ['REGISTRATION_MISSING'])
  assert.deepEqual(await found(S256, true), [])
  assert.deepEqual(await found(registering), ['PKCE_MISSING'])
})

test('a named authorization server gets the requests that a login would send', async (t) => {
  const uri = await listening(t, (_request, response) => response.end('{}'))
  const issuer = await issuing(t)
  issuer.metadata = { code_challenge_methods_supported: ['S256'] }
  const looks = [issuer.url, `${issuer.url}/`, await closedPort()].map(async (named) =>
    faultsOf(await signingIn(t, uri, { issuer: named })),
  )
  assert.deepEqual(await Promise.all(looks), [['REGISTRATION_MISSING'], ['SERVER_MISMATCH'], ['TCP_REFUSED']])
})

test('the metadata of a target is not requested when no login needs it', async (t) => {
  const uri = await closed(t, {})
  const issuer = await issuing(t)
  issuer.metadata = { code_challenge_methods_supported: ['S256'] }
  assert.deepEqual(faultsOf(await signingIn(t, uri, { issuer: issuer.url }, true)), [])
  const urls = { authorizationUrl: `${issuer.url}/authorize`, tokenUrl: `${issuer.url}/token` }
  assert.deepEqual(faultsOf(await signingIn(t, uri, urls, true)), [])
  const exchange = await listening(t, (_request, response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
  )
  const sendings = [
    [{ use: 'credential/token-exchange', with: { url: exchange, allowPrivateIP: true } }],
    [
      { use: 'secrets/environment' },
      { use: 'headers/stored', with: { headers: [{ name: 'X-API-Key', secret: 'key' }] } },
    ],
  ]
  for (const sending of sendings) {
    const list = [...sending, { use: 'forward/http', with: { target: uri } }]
    assert.deepEqual(faultsOf(await looked(t, list)), [])
  }
  assert.deepEqual(faultsOf(await signingIn(t, uri)), ['METADATA_MISSING'])
})

test('a target that redirects or is missing, once it has the token, is reported', async (t) => {
  const statuses = [307, 404, 500]
  const looks = statuses.map(async (status) => {
    const uri = await listening(t, ({ headers: { authorization } }, response) =>
      response.writeHead(authorization === undefined ? 401 : status).end(),
    )
    return faultsOf(
      await looked(t, [
        { use: 'credential/static-bearer', with: { token: 'good-token' } },
        { use: 'forward/http', with: { target: uri } },
      ]),
    )
  })
  assert.deepEqual(await Promise.all(looks), [['TARGET_REDIRECTS'], ['TARGET_FAILED'], ['TARGET_FAILED']])
})

test('a token that the target refuses is reported, and never shown', async (t) => {
  const uri = await listening(t, ({ headers: { authorization } }, response) =>
    authorization === 'Bearer good-token'
      ? response.end('{}')
      : response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end(),
  )
  const sending = (token: string) =>
    looked(t, [
      { use: 'credential/static-bearer', with: { token } },
      { use: 'forward/http', with: { target: uri } },
    ])
  assert.deepEqual(faultsOf(await sending('good-token')), [])
  const { findings } = await sending('stale-token')
  assert.deepEqual(faultsOf({ findings }), ['CREDENTIAL_REFUSED'])
  assert.doesNotMatch(JSON.stringify(findings), /stale-token/)
})

test('keys are requested as the gateway does: Kubernetes refuses a request that accepts only JSON', async (t) => {
  const issuer = await issuing(t)
  const { keys } = issuer
  issuer.faults.set('/jwks', ({ headers: { accept = '' } }, response) =>
    accept.includes('application/jwk-set+json')
      ? response.end(JSON.stringify({ keys }))
      : response.writeHead(406).end(),
  )
  const { findings } = await looked(t, [{ use: 'auth/oidc', with: issuer.provider }])
  assert.deepEqual(faultsOf({ findings }), [])
})

test('a token endpoint that does not know the client or the exchange is named', async (t) => {
  const issuer = await issuing(t)
  const found = async (error: string, url = issuer.tokenUrl) => {
    issuer.grant = (form) => ({ error: form.get('app') === 'c' ? error : 'invalid_request' })
    const client = { clientId: 'c', clientSecret: 'kept-to-ourselves', clientAuthentication: 'post' }
    const exchange = { url, ...client, requestNames: { client_id: 'app' }, allowPrivateIP: true }
    const list = [
      { use: 'auth/jwt', with: { ...issuer.provider, jwksUrl: `${issuer.origin}/jwks` } },
      { use: 'credential/token-exchange', with: exchange },
    ]
    const { findings } = await looked(t, list)
    assert.doesNotMatch(JSON.stringify(findings), /kept-to-ourselves/)
    return faultsOf({ findings })
  }
  assert.deepEqual(await found('invalid_grant'), [])
  assert.deepEqual(await found('invalid_client'), ['EXCHANGE_REFUSED'])
  assert.deepEqual(await found('unsupported_grant_type'), ['EXCHANGE_UNKNOWN'])
  assert.deepEqual(await found('', `${issuer.origin}/elsewhere`), ['EXCHANGE_FAILED'])
})

/** A proxy that leads every tunnel to this port, once it has seen these credentials. */
async function proxyTo(t: TestContext, port: number, expected?: string): Promise<string> {
  const { url } = await connectProxy(t, {
    to: port,
    instead(socket, { 'proxy-authorization': given }) {
      const isRefused = expected !== undefined && given !== expected
      if (isRefused) socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n')
      return isRefused
    },
  })
  return url.replace('http://', '')
}

test('a proxy that blocks is named, and servers behind a proxy are examined through it', async (t) => {
  const ca = authority(t)
  const issuerUrl = 'https://idp.example'
  const port = await tlsListening(t, ca.issue(['idp.example']), ({ url = '' }, response) =>
    response.end(
      JSON.stringify(
        url === '/keys' ? { keys: [{ kty: 'EC' }] } : { issuer: issuerUrl, jwks_uri: `${issuerUrl}/keys` },
      ),
    ),
  )
  const wanting = await proxyTo(t, port, `Basic ${Buffer.from('anna:ge heim@').toString('base64')}`)
  const through = async (HTTPS_PROXY: string, settings: object, NO_PROXY = '') => {
    const home = folder(t, { 'c.json': JSON.stringify(configOf({ ...good, issuerUrl, ...settings })) })
    const argv = ['doctor', '--config', join(home, 'c.json'), '--json']
    const looking = program(t, argv, { environment: { HTTPS_PROXY, NO_PROXY } })
    await looking.ended()
    assert.doesNotMatch(looking.output.stdout, /anna|heim/)
    return faultsOf({ findings: JSON.parse(looking.output.stdout) })
  }
  const trusting = { caCertPath: ca.file }
  const looks = [
    await through(`http://anna:ge%20heim%40@${wanting}`, trusting),
    await through(`http://${wanting}`, trusting),
    await through((await closedPort()).replace('http://', ''), trusting),
    await through(await proxyTo(t, port), {}),
    await through(`http://${wanting}`, { issuerUrl: `https://${'a'.repeat(64)}.example` }, '.example'),
  ]
  assert.deepEqual(looks, [[], ['PROXY_REFUSES'], ['PROXY_UNREACHABLE'], ['TLS_UNTRUSTED'], ['DNS_FAILED']])
})

test('a target is examined through the proxy of the environment, like its requests', async (t) => {
  const ca = authority(t)
  const port = await tlsListening(t, ca.issue(['mcp.example']), (_request, response) => response.end('{}'))
  const NODE_EXTRA_CA_CERTS = ca.file
  const HTTPS_PROXY = (await connectProxy(t, { to: port })).url
  const away = await closedPort()
  const faults = async (uri: string, environment: Readonly<Record<string, string>>) => {
    // Node reads these certificates when a process starts.
    const run = 'NODE_EXTRA_CA_CERTS' in environment ? startedProgram : program
    const looking = run(t, ['doctor', 'x', '--target-uri', uri, '--json'], { environment })
    await looking.ended()
    return faultsOf({ findings: JSON.parse(looking.output.stdout) })
  }
  // No loopback by name, so that a proxy would be asked for it, and nowhere but on this machine.
  const here = `http://0.0.0.0:${new URL(away).port}/mcp`
  const looks = [
    await faults('https://mcp.example/mcp', { HTTPS_PROXY, NODE_EXTRA_CA_CERTS }),
    await faults('https://mcp.example/mcp', { HTTPS_PROXY }),
    await faults(here, { HTTP_PROXY: away }),
    await faults(here, { HTTP_PROXY: away, NO_PROXY: '0.0.0.0' }),
  ]
  assert.deepEqual(looks, [[], ['TLS_UNTRUSTED'], ['PROXY_UNREACHABLE'], ['TCP_REFUSED']])
})

test('a registry that is not running is only a warning, also with a proxy in the environment', async (t) => {
  const { port } = new URL(await closedPort())
  const list = [{ use: 'discovery/resource', with: { resource: `http://0.0.0.0:${port}` } }]
  const home = folder(t, { 'c.json': JSON.stringify(list) })
  const argv = ['doctor', '--config', join(home, 'c.json'), '--json']
  const looking = program(t, argv, { environment: { HTTP_PROXY: await closedPort() } })
  assert.equal(await looking.ended(), 0, looking.output.stdout)
})

test('a public name that does not resolve here is a warning', async (t) => {
  const { findings } = await looked(t, [
    { use: 'discovery/resource', with: { resource: `https://${'a'.repeat(64)}.example/mcp` } },
  ])
  assert.deepEqual(
    findings.map(({ state, code }) => `${state} ${code}`),
    ['warning DNS_FAILED'],
  )
})

test('findings in a scope name it, and a missing file is found', async (t) => {
  const target = { use: 'forward/http', with: { target: await closedPort() } }
  const inside = { scope: '/a', plugins: [target, { scope: '/b', plugins: [target] }] }
  const { findings } = await looked(t, [
    { use: 'source/file', with: { name: 's', path: 'none.json' } },
    inside,
  ])
  assert.deepEqual(
    findings.filter(({ state }) => state === 'wrong').map(({ about, code }) => `${about}: ${code}`),
    ['source/file: FILE_UNREADABLE', '/a forward/http: TCP_REFUSED', '/a/b forward/http: TCP_REFUSED'],
  )
})

test('a truncated file of server documents is found, also in a folder', async (t) => {
  const home = folder(t, { 'cut.json': '[{"name":', 'cut.yaml': 'a: [', 'well.json': '[]' })
  const source = (name: string) => ({ use: 'source/file', id: name, with: { name, path: join(home, name) } })
  const { findings } = await looked(t, ['cut.json', 'cut.yaml', 'well.json', '.'].map(source))
  assert.deepEqual(
    findings.map(({ about, state, code }) => [about, state, code]),
    [
      ['cut.json', 'wrong', 'FILE_MALFORMED'],
      ['cut.yaml', 'wrong', 'FILE_MALFORMED'],
      ['well.json', 'ok', 'OK'],
      ['.', 'warning', 'DOCUMENTS_REFUSED'],
      ['.', 'warning', 'DOCUMENT_REFUSED'],
      ['.', 'warning', 'DOCUMENT_REFUSED'],
    ],
  )
})

/** A third party's plugin; `members` are in its definition. */
const foreign = (members: string): string => `
  import { definePlugin } from 'sallyport'
  const validate = (value) => ({ value: { tries: 3, ...value } })
  export default definePlugin({
    name: 'foreign',
    api: 1,
    options: { '~standard': { version: 1, vendor: 'foreign', validate } },
    setup() {},
    ${members}
  })`

test("a third party's plugin examines its entry with the probes of the built-in plugins", async (t) => {
  const uri = await listening(t, (_request, response) => response.end('{}'))
  const away = await closedPort()
  const files = {
    'foreign.mjs': foreign(`async examine({ id, path, around, probes, ok, warning, wrong }, { url, tries }) {
      ok('options', tries + ' tries from ' + path('.'))
      warning('list', 'LIST_SHORT', id + ' is one of ' + around.length, 'add more')
      if (await probes.reach(url)) ok('greeting', String((await probes.greet(url)).status))
      else wrong('place', 'PLACE_AWAY', url, 'start it')
    }`),
  }
  const use = './foreign.mjs'
  const list = [
    { use, id: 'up', with: { url: uri } },
    { use, id: 'down', with: { url: away, tries: 1 } },
  ]
  const { findings } = await looked(t, list, { files })
  assert.deepEqual(
    findings.map(({ about, check, state, code }) => `${about} ${check} ${state} ${code}`),
    [
      'up options ok OK',
      'up list warning LIST_SHORT',
      'up DNS ok OK',
      'up TCP ok OK',
      'up greeting ok OK',
      'down options ok OK',
      'down list warning LIST_SHORT',
      'down DNS ok OK',
      'down TCP wrong TCP_REFUSED',
      'down place wrong PLACE_AWAY',
    ],
  )
  assert.match(findings[0]?.detail ?? '', /^3 tries from \//)
  assert.deepEqual(
    findings.filter(({ code }) => code === 'LIST_SHORT').map(({ detail }) => detail),
    ['up is one of 2', 'down is one of 2'],
  )
})

test("the facts of a third party's plugin count when the target is examined", async (t) => {
  const uri = await listening(t, ({ headers: { authorization } }, response) =>
    response.writeHead(authorization === 'Bearer theirs' ? 200 : 401).end(),
  )
  const sending = async (facts: string) => {
    const list = [{ use: './foreign.mjs' }, { use: 'forward/http', with: { target: uri } }]
    const { findings } = await looked(t, list, { files: { 'foreign.mjs': foreign(facts) } })
    assert.doesNotMatch(JSON.stringify(findings), /theirs/)
    return faultsOf({ findings })
  }
  assert.deepEqual(await sending("facts: () => ({ bearer: () => 'theirs' }),"), [])
  assert.deepEqual(await sending('facts: () => ({}),'), ['METADATA_MISSING'])
  assert.deepEqual(await sending("facts() { throw new Error('no') },"), ['METADATA_MISSING'])
})

test('an examination that fails or hangs is named, and the others still run', async (t) => {
  const files = {
    'fails.mjs': foreign("examine() { throw new Error('no such thing') },"),
    'hangs.mjs': foreign("examine({ ok }) { ok('first', 'seen'); return new Promise(() => {}) },"),
    'well.json': '[]',
  }
  const list = [
    { use: './fails.mjs', id: 'fails' },
    { use: './hangs.mjs', id: 'hangs' },
    { use: 'source/file', with: { name: 's', path: 'well.json' } },
  ]
  // Long enough to read a file of two bytes.
  const { findings } = await looked(t, list, { files, timeout: 1_000 })
  assert.deepEqual(
    findings.map(({ about, state, code }) => [about, state, code]),
    [
      ['fails', 'wrong', 'EXAMINATION_FAILED'],
      ['hangs', 'ok', 'OK'],
      ['hangs', 'wrong', 'EXAMINATION_FAILED'],
      ['source/file', 'ok', 'OK'],
    ],
  )
  assert.equal(findings[0]?.detail, 'no such thing')
})

test('handles that an examination leaves open do not keep the program alive', async (t) => {
  const home = folder(t, {
    'list.json': '[{ "use": "./foreign.mjs" }]',
    'foreign.mjs': foreign('examine() { setInterval(() => {}, 2 ** 30) },'),
  })
  const looking = startedProgram(t, ['doctor', '--config', join(home, 'list.json')])
  assert.equal(await looking.ended(), 0)
  assert.match(looking.output.stdout, /\n$/)
})

test('the authorities of an entry are read for its endpoint too, and a missing file of authorities is named', async (t) => {
  const ca = authority(t)
  const port = await tlsListening(t, ca.issue(['localhost']), (_request, response) =>
    response.writeHead(400).end('{"error":"invalid_grant"}'),
  )
  const found = async (caCertPath: string) => {
    const exchange = { url: `https://localhost:${port}/token`, allowPrivateIP: true, caCertPath }
    const source = { ...exchange, name: 's', url: `https://localhost:${port}` }
    const { findings } = await looked(t, [
      { use: 'credential/token-exchange', with: exchange },
      { use: 'source/http', with: source },
    ])
    return findings.filter(({ state }) => state === 'wrong').map(({ about, code }) => `${about} ${code}`)
  }
  assert.deepEqual(await found(ca.file), [])
  assert.deepEqual(await found('none.pem'), [
    'credential/token-exchange FILE_UNREADABLE',
    'source/http FILE_UNREADABLE',
  ])
})

test('doctor prints a line for a list that depends on nothing outside', async (t) => {
  const home = folder(t, { 'list.json': '[{ "use": "auth/anonymous" }]' })
  const looking = program(t, ['doctor', '--config', join(home, 'list.json')])
  assert.equal(await looking.ended(), 0)
  assert.notEqual(looking.output.stdout.trim(), '')
})

test('doctor without a file or a target, or with both, ends with 2', async (t) => {
  for (const argv of [[], ['--config', 'x.yaml', '--target-uri', 'https://target.example']]) {
    const looking = program(t, ['doctor', ...argv])
    assert.equal(await looking.ended(), 2)
  }
})

test('the certificates for a target are used, and examined too', async (t) => {
  const ca = authority(t)
  const listener: RequestListener = (request, response) => {
    request.resume()
    response.writeHead(200).end()
  }
  const more = { requestCert: true, ca: ca.certificate }
  const port = await tlsListening(t, ca.issue(['127.0.0.1']), listener, more)
  const [lasting, expired] = [ca.issue(['client'], 30), ca.issue(['client'], -1)]
  const files = {
    'ca.pem': ca.certificate,
    'client.pem': lasting.cert,
    'client.key': lasting.key,
    'expired.pem': expired.cert,
    'expired.key': expired.key,
  }
  const found = async (options: object) =>
    (
      await looked(t, [{ use: 'forward/http', with: { target: `https://127.0.0.1:${port}`, ...options } }], {
        files,
      })
    ).findings
  const client = { targetClientCert: 'client.pem', targetClientKey: 'client.key' }

  const [good, untrusting, old, none, half] = await Promise.all([
    found({ targetCaCert: 'ca.pem', ...client }),
    found(client),
    found({ targetCaCert: 'ca.pem', targetClientCert: 'expired.pem', targetClientKey: 'expired.key' }),
    found({ targetCaCert: 'ca.pem' }),
    found({ targetCaCert: 'client.key', targetClientCert: 'client.pem', targetClientKey: 'expired.key' }),
  ])
  assert.deepEqual(faultsOf({ findings: good }), [], JSON.stringify(good))
  // The authority of the kit lasts two days.
  assert.deepEqual(
    good.filter(({ state }) => state === 'warning').map(({ check, code }) => [check, code]),
    [['certificate', 'TLS_EXPIRES_SOON']],
  )
  assert.deepEqual(faultsOf({ findings: untrusting }), ['TLS_UNTRUSTED'])
  assert.match(JSON.stringify(untrusting), /the file that targetCaCert names/)
  assert.equal(faultsOf({ findings: old })[0], 'TLS_EXPIRED')
  assert.deepEqual(faultsOf({ findings: none }), ['TARGET_FAILED'])
  assert.deepEqual(
    half.filter(({ state }) => state === 'wrong').map(({ check }) => check),
    ['certificate (targetClientKey)', 'certificate (targetCaCert)'],
  )
})

test('sign-in: the redirect URI is shown, and an issuer where sign-in is impossible is found', async (t) => {
  const issuer = await realIssuer(t, {
    people: { redirectUri: 'https://registry.example.com/sign-in/callback' },
  })
  const settings = { name: 'corp', issuerUrl: issuer.url, audience: issuer.audience, allowPrivateIP: true }
  const config = (scopes: readonly string[]) => ({
    auth: {
      oauth: {
        resourceUrl: 'https://registry.example.com',
        providers: [settings],
        signIn: { clientId: 'pages', scopes },
      },
    },
  })
  const ofSignIn = ({ findings }: { findings: readonly Finding[] }) =>
    findings.filter(({ about }) => about === 'pages/sign-in')
  const good = ofSignIn(await looked(t, config(['openid'])))
  assert.match(
    good.find(({ check }) => check === 'redirect URI')?.detail ?? '',
    /https:\/\/registry\.example\.com\/sign-in\/callback .* pages$/,
  )
  assert.deepEqual(
    good.map(({ state }) => state).filter((state) => state !== 'ok'),
    [],
  )
  const odd = ofSignIn(await looked(t, config(['openid', 'read:all'])))
  const codesOf = (found: readonly Finding[]) =>
    found.filter(({ state }) => state !== 'ok').map(({ code }) => code)
  assert.deepEqual(codesOf(odd), ['SCOPE_UNKNOWN'])

  const { issuerUrl, allowPrivateIP } = settings
  const entry = {
    clientId: 'pages',
    resourceUrl: 'https://registry.example.com/x',
    issuerUrl,
    allowPrivateIP,
  }
  const scoped = await looked(t, [
    {
      scope: '/x',
      plugins: [
        { use: 'discovery/issuer' },
        { use: 'auth/anonymous' },
        { use: 'pages/sign-in', with: entry },
      ],
    },
  ])
  const details = scoped.findings.map(({ detail }) => detail).join()
  assert.match(details, /https:\/\/registry\.example\.com\/x\/sign-in\/callback has/)

  issuer.responses.set('/.well-known/openid-configuration', (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        issuer: issuer.url,
        jwks_uri: `${issuer.url}/jwks`,
        response_types_supported: ['id_token'],
      }),
    ),
  )
  const bad = ofSignIn(await looked(t, config(['openid'])))
  assert.deepEqual(codesOf(bad), ['SIGN_IN_UNSUPPORTED'])
})

test('broker: the redirect URI is shown, and a provider where nobody can sign in is found', async (t) => {
  const issuer = await realIssuer(t, { people: { redirectUri: 'https://mcp.example.com/oauth/callback' } })
  const login = { issuerUrl: issuer.url, clientId: 'gateway', allowPrivateIP: true }
  const list = [
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    { use: 'discovery/issuer' },
    { use: 'login/oidc', with: login },
    { use: 'state/memory' },
    { use: 'issuer/broker', with: { resourceUrl: 'https://mcp.example.com/mcp', keyFile: './broker.key' } },
  ]
  const of = async (plugin: string) =>
    (await looked(t, list)).findings.filter(({ about }) => about === plugin)
  assert.match(
    (await of('issuer/broker'))[0]?.detail ?? '',
    /^https:\/\/mcp\.example\.com\/oauth\/callback has/,
  )
  issuer.responses.set('/.well-known/openid-configuration', (_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        issuer: issuer.url,
        jwks_uri: `${issuer.url}/jwks`,
        response_types_supported: ['id_token'],
      }),
    ),
  )
  const wrong = (await of('login/oidc')).filter(({ state }) => state === 'wrong')
  assert.deepEqual(
    wrong.map(({ code }) => code),
    ['SIGN_IN_UNSUPPORTED'],
  )
})
