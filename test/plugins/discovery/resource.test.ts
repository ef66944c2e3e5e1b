import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { Authenticator, definePlugin, type List, Refusal, ResourceMetadata } from 'sallyport'
import { booted, protectedRoute, serving } from 'sallyport/testing'
import { listen, plugin, providing } from '#kit/plugin.js'
import { runs } from '#kit/runs.js'

const WELL_KNOWN = '/.well-known/oauth-protected-resource'
const ISSUER = 'https://idp.example.com/'

/** An authenticator whose tokens are lists of scopes. */
const scoped = definePlugin({
  name: 'scoped',
  api: 1,
  provides: [Authenticator, ResourceMetadata],
  setup(gateway) {
    gateway.provide(ResourceMetadata, { authorization_servers: [ISSUER] })
    gateway.provide(Authenticator, {
      provider: 'scoped',
      authenticate: ({ credentials }) =>
        credentials.kind === 'bearer' && credentials.token.startsWith('scope.')
          ? {
              identity: {
                provider: 'scoped',
                subject: 'me',
                scopes: credentials.token.split('.').slice(1),
                claims: {},
              },
            }
          : { rejection: { kind: 'invalid', cause: 'signature' } },
    })
  },
})

const listWith = (options: Readonly<Record<string, unknown>>): List => [
  { use: scoped },
  { use: 'discovery/resource', with: options },
  { use: protectedRoute },
]
const appWith = (t: TestContext, options: Readonly<Record<string, unknown>>) => booted(t, listWith(options))

const bearer = (token: string) => ({ url: '/closed', headers: { authorization: `Bearer ${token}` } })

test('RS-01 RS-27: the document has the configured values, byte for byte, and no empty list', async (t) => {
  const resource = 'https://Registry.Example.com:443/'
  const app = await appWith(t, { resource })
  const answer = await app.inject(WELL_KNOWN)

  assert.equal(answer.statusCode, 200)
  assert.match(String(answer.headers['content-type']), /^application\/json/)
  assert.deepEqual(answer.json(), {
    resource,
    authorization_servers: [ISSUER],
    bearer_methods_supported: ['header'],
  })
})

test('RS-27 RS-28: the document has documentation and scopes when they are set', async (t) => {
  const resourceDocumentation = 'https://docs.example.com/registry'
  const app = await appWith(t, {
    resource: 'https://r.example',
    resourceDocumentation,
    scopes: ['read', 'offline_access'],
    requiredScopes: ['read', 'write'],
  })
  const document = (await app.inject(WELL_KNOWN)).json()
  assert.equal(document.resource_documentation, resourceDocumentation)
  // RS-28: `offline_access` is no scope of a resource.
  assert.deepEqual(document.scopes_supported, ['read', 'write'])
  const challenge = String((await app.inject('/closed')).headers['www-authenticate'])
  assert.match(challenge, / scope="read write",/)
})

test('RS-28: `offline_access` cannot be a required scope', async (t) => {
  const options = { resource: 'https://r.example', requiredScopes: ['read', 'offline_access'] }
  await assert.rejects(appWith(t, options), { code: 'CONFIG_INVALID' })
})

test('RS-02: a resource with a path has its document at root and with the path inserted, and nowhere else', async (t) => {
  for (const path of ['/mcp', '/a/b/', '/a:b', '/caf%C3%A9']) {
    const resource = `https://r.example${path}`
    const app = await appWith(t, { resource })
    assert.equal((await app.inject(WELL_KNOWN)).json().resource, resource)
    assert.equal((await app.inject(WELL_KNOWN + path)).json().resource, resource)
    for (const other of ['/other', `${path}x`, `${path}/deeper`, '/']) {
      if (other === path) continue
      const answer = await app.inject(WELL_KNOWN + other)
      assert.deepEqual([answer.statusCode, answer.json().error], [404, 'not_found'], other)
    }
  }
})

test('RS-03: the challenge of every 401 points to a document of the resource that was called', async (t) => {
  const list: List = [listen, ...listWith({ path: '/mcp' }), { scope: '/inner', plugins: listWith({}) }]
  const { main = '' } = (await serving(t, list)).addresses
  for (const [path, resource] of [
    ['/closed', `${main}/mcp`],
    ['/nowhere', `${main}/mcp`],
    ['/%zz', `${main}/mcp`],
    ['/inner/closed', `${main}/inner`],
    ['/inner/nowhere', `${main}/inner`],
  ] as const) {
    const refused = await fetch(main + path)
    const challenge = refused.headers.get('www-authenticate') ?? ''
    const [, pointer = ''] = /^Bearer realm="mcp", resource_metadata="([^"]+)"$/.exec(challenge) ?? []
    assert.equal(refused.status, 401)
    const document = (await (await fetch(pointer)).json()) as { resource: string }
    assert.equal(document.resource, resource, `${path}: ${challenge}`)
  }
})

test('RS-04 RS-07: missing credentials, malformed ones and an invalid token have different challenges', async (t) => {
  const app = await appWith(t, { resource: 'https://r.example', realm: 'here', scopes: ['read'] })
  const challengeOf = async (authorization?: string) => {
    const answer = await app.inject({
      url: '/closed',
      headers: authorization === undefined ? {} : { authorization },
    })
    assert.equal(answer.statusCode, 401)
    return String(answer.headers['www-authenticate'])
  }
  const end = `scope="read", resource_metadata="https://r.example${WELL_KNOWN}"`
  assert.equal(await challengeOf(), `Bearer realm="here", ${end}`)
  assert.match(
    await challengeOf('Basic x'),
    /^Bearer realm="here", error="invalid_request", error_description="[^"\\]+", /,
  )
  assert.match(
    await challengeOf('Bearer bad'),
    /^Bearer realm="here", error="invalid_token", error_description="[^"\\]+", /,
  )
  assert.ok((await challengeOf('Bearer bad')).endsWith(end))
})

test('RS-29: a token without a required scope gets a 403, which names every required scope', async (t) => {
  const app = await appWith(t, {
    resource: 'https://r.example',
    scopes: ['extra'],
    requiredScopes: ['read', 'write'],
  })
  const answer = await app.inject(bearer('scope.read'))

  assert.equal(answer.statusCode, 403)
  assert.equal(answer.json().error, 'insufficient_scope')
  const challenge = String(answer.headers['www-authenticate'])
  assert.match(challenge, /error="insufficient_scope"/)
  assert.match(challenge, /scope="read write"/)
  assert.match(challenge, /resource_metadata="https:\/\/r\.example\/\.well-known/)
  assert.equal((await app.inject(bearer('scope.write.more.read'))).statusCode, 200)
  assert.equal((await app.inject(WELL_KNOWN)).statusCode, 200)
})

test('RS-34: pages of every origin can read the document: CORS, preflight, GET and HEAD; other methods get 405', async (t) => {
  const app = await appWith(t, { resource: 'https://r.example/mcp' })
  for (const url of [WELL_KNOWN, `${WELL_KNOWN}/mcp`]) {
    const [get, head] = [await app.inject(url), await app.inject({ method: 'HEAD', url })]
    for (const answer of [get, head]) {
      assert.equal(answer.statusCode, 200)
      assert.equal(answer.headers['access-control-allow-origin'], '*')
      // RS-36: short enough to follow a change.
      assert.match(String(answer.headers['cache-control']), /^public, max-age=\d{1,3}$/)
    }
    assert.equal(head.headers['content-length'], get.headers['content-length'])
    const preflight = await app.inject({
      method: 'OPTIONS',
      url,
      headers: { origin: 'https://app.example', 'access-control-request-method': 'GET' },
    })
    assert.equal(preflight.statusCode, 204)
    assert.equal(preflight.headers['access-control-allow-origin'], '*')
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE'] as const) {
      const answer = await app.inject({ method, url })
      assert.deepEqual([answer.statusCode, answer.headers['allow']], [405, 'GET, HEAD, OPTIONS'], method)
    }
  }
})

test('RS-36: a refusal is never stored', async (t) => {
  const app = await appWith(t, { resource: 'https://r.example' })
  for (const headers of [{}, { authorization: 'Bearer bad' }, { authorization: 'nonsense' }]) {
    assert.equal((await app.inject({ url: '/closed', headers })).headers['cache-control'], 'no-store')
  }
})

test('RS-30: no realm, description or attribute breaks the header', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), async (realm, hostile) => {
      const refusing = plugin('refusing', ({ http }) => {
        http.get('/refused', { config: { public: true } }, () => {
          throw new Refusal(401, 'SOMETHING', hostile, { challenge: { scope: hostile } })
        })
      })
      const app = await booted(t, [
        { use: 'discovery/resource', with: { resource: 'https://r.example', realm } },
        refusing,
      ])
      const header = (await app.inject('/refused')).headers['www-authenticate']
      const names = attributesOf(String(header)).map(([name]) => name)

      assert.deepEqual(names, ['realm', 'error', 'error_description', 'scope', 'resource_metadata'])
      assert.match(attributesOf(String(header))[2]?.[1] ?? '', /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/)
      await app.close()
    }),
    {
      numRuns: runs(60),
      examples: [
        ['"\r\nX: y', '", error="none'],
        ['\\', '\\"'],
        ['é\u0000', '\u2028'],
      ],
    },
  )
})

test('two parts that disagree about the document stop the start', async (t) => {
  const disagreeing = providing('disagreeing', ResourceMetadata, { resource: 'https://other.example' })
  const list = [...listWith({ resource: 'https://r.example' }), disagreeing]
  await assert.rejects(booted(t, list), { code: 'CONFIG_INVALID' })
})

test('wrong options stop the start', async (t) => {
  const wrong = [
    { resource: 'https://r.example', resourceDocumentation: 'javascript:alert(1)' },
    { resource: 'r.example' },
    { resource: 'https://r.example/#part' },
    { resource: 'https://r.example/%zz' },
    { resource: 'https://r.example', path: '/%ff' },
    { resource: 'https://user:pass@r.example/' },
    { resource: 'ftp://r.example' },
    { resource: 'https://r.example', scopes: ['two words'] },
    { resource: 'https://r.example', scopes: ['quo"te'] },
    { resource: 'https://r.example', unavailableStatus: 500 },
    // Without a main port there is no default for the resource.
    {},
  ]
  for (const options of wrong) await assert.rejects(appWith(t, options), { code: 'CONFIG_INVALID' })
})

/** The attributes of one Bearer challenge, parsed by RFC 9110; throws for anything else. */
function attributesOf(header: string): (readonly [string, string])[] {
  assert.ok(header.startsWith('Bearer '))
  const found: (readonly [string, string])[] = []
  const pattern = /(?:^|, )([a-z_]+)="((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*)"/gy
  const rest = header.slice('Bearer '.length)
  while (pattern.lastIndex < rest.length) {
    const match = pattern.exec(rest)
    assert.ok(match, header)
    found.push([match[1] ?? '', match[2] ?? ''])
  }
  return found
}
