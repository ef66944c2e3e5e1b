import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { ConfigError, type Entry, isScope, type List } from 'sallyport'
import { planList } from 'sallyport/embed'
import { RegistrySettings, registry } from 'sallyport/presets/registry'
import { booted, serving } from 'sallyport/testing'
import { parse } from 'yaml'
import { contextFor } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { issuing } from '#kit/issuer.js'
import { program } from '#kit/program.js'

const example = join(import.meta.dirname, '../../../examples/registry/sallyport.yaml')
const anonymous = { auth: { mode: 'anonymous' }, stateDirectory: null }

const namesIn = (list: List): string[] =>
  list
    .filter((item): item is Entry => !isScope(item))
    .map(({ id, use }) => id ?? (typeof use === 'string' ? use : use.name))

/** Where the settings are wrong, and what is said there. */
function complaints(settings: unknown): string[] {
  const { error } = RegistrySettings.safeParse(settings)
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

test('mode oauth, the default, needs providers, and the error shows what to write', () => {
  for (const settings of [{}, { auth: {} }, { auth: { mode: 'oauth' } }]) {
    const [first = '', ...others] = complaints(settings)
    assert.match(first, /^auth\.oauth: .*resourceUrl.*providers.*issuerUrl/)
    assert.deepEqual(others, [])
  }
  const none = { resourceUrl: 'https://r.example.com', providers: [] }
  assert.match(complaints({ auth: { oauth: none } }).join(), /auth\.oauth\.providers: expected one provider/)
})

test('anonymous starts with the defaults, an empty registry and a warning', async (t) => {
  // The host of a request that came by no socket.
  const settings = RegistrySettings.parse({ ...anonymous, allowedHosts: ['localhost:80'] })
  assert.equal(settings.address, '127.0.0.1:8080')
  assert.equal(settings.internalAddress, '127.0.0.1:8081')
  const app = await booted(t, registry(settings))
  const response = await app.inject('/registry/default/v0.1/servers')
  assert.deepEqual(response.json(), { servers: [], metadata: { count: 0 } })
  assert.equal(response.headers['cache-control'], 'public, max-age=30')
})

test('every mistake is reported at its place', () => {
  const source = { name: 'one', file: { path: './x.json' } }
  const wrong: [object, RegExp][] = [
    [{ sources: [source, source] }, /^sources\.1\.name: /],
    [{ sources: [{ name: 'one' }] }, /^sources\.0: expected exactly one of file, http, git, managed, use$/],
    [{ sources: [{ ...source, http: {} }] }, /^sources\.0: expected exactly one of/],
    [{ sources: [{ ...source, with: {} }] }, /^sources\.0\.with: /],
    [
      { sources: [source], registries: [{ name: 'r', sources: ['two'] }] },
      /^registries\.0\.sources\.0: no source has this name$/,
    ],
    [
      {
        registries: [
          { name: 'r', sources: [] },
          { name: 'r', sources: [] },
        ],
      },
      /^registries\.1\.name: /,
    ],
    [{ registries: [{ name: 'a/b', sources: [] }] }, /^registries\.0\.name: /],
    [{ plugins: [{ use: './x.js', after: 'nobody' }] }, /^plugins\.0\.after: no entry/],
    [{ plugins: [{ use: './x.js', after: 'registry/api', before: 'registry/api' }] }, /^plugins\.0: /],
    [
      { sources: [{ name: 'one', managed: {} }] },
      /^stateDirectory: null keeps no files, and there is no `store`: what is published/,
    ],
    [{ store: {} }, /^store: expected exactly one of postgres, sqlite, use$/],
    [{ store: { sqlite: {}, postgres: {} } }, /^store: expected exactly one of/],
    [{ store: { sqlite: {}, with: {} } }, /^store\.with: belongs to `use`/],
    [{ store: { mysql: {} } }, /^store: .*mysql/],
    [{ store: { sqlite: {} } }, /^stateDirectory: null keeps no files/],
    [{ store: { use: './mine.js' } }, /^stateDirectory: has no effect/],
    [{ store: { postgres: { directory: './x' } } }, /^stateDirectory: the store has a `directory` already/],
    [{ address: 'here' }, /^address: expected HOST:PORT/],
    [{ adress: 'x' }, /adress/],
    [{ internalAddress: '127.0.0.1:8080' }, /^internalAddress: is the port of `address` too/],
    [{ address: '0.0.0.0:8081' }, /^internalAddress: is the port of `address` too/],
    [
      { sources: [{ name: 'one', file: './s.json' }] },
      /^sources\.0\.file: .*`file: \{ path: \.\/servers\.json \}`$/,
    ],
    [{ sources: [{ name: 'one', git: 'https://x' }] }, /^sources\.0\.git: .*`git: \{ url: /],
    [{ sources: [{ name: 'one', managed: null }] }, /^sources\.0\.managed: .*`managed: \{\}`$/],
  ]
  for (const [settings, expected] of wrong) {
    const told = complaints({ ...anonymous, ...settings })
    assert.ok(
      told.some((line) => expected.test(line)),
      `${expected} in ${told.join(' | ')}`,
    )
  }
})

test('the state is in files, or where the settings say', () => {
  const storesOf = (settings: object) =>
    registry(RegistrySettings.parse({ auth: { mode: 'anonymous' }, ...settings }))
      .filter((item): item is Entry => !isScope(item))
      .filter(({ use }) => typeof use === 'string' && /^(?:store|\.)\/|catalogue$/.test(use))
      .map(({ use, with: options }) => [use, options])
  const registries = [{ name: 'default', sources: [] }]
  const catalogue = ['registry/catalogue', { registries }]
  const url = 'postgres://db.example/registry'
  for (const [settings, store, served] of [
    [{}, ['store/sqlite', {}], catalogue],
    [{ stateDirectory: './state' }, ['store/sqlite', { directory: './state' }], catalogue],
    [{ stateDirectory: null }, undefined, catalogue],
    [{ store: { sqlite: { directory: './state' } } }, ['store/sqlite', { directory: './state' }], catalogue],
    [{ store: { postgres: { url } } }, ['store/postgres', { url }], catalogue],
    [
      { store: { postgres: { url } }, stateDirectory: './copies' },
      ['store/postgres', { directory: './copies', url }],
      catalogue,
    ],
    [
      { store: { postgres: { url } }, stateDirectory: null },
      ['store/postgres', { directory: null, url }],
      catalogue,
    ],
    [{ store: { use: './mine.js', with: { x: 1 } } }, ['./mine.js', { x: 1 }], catalogue],
  ] as const)
    assert.deepEqual(storesOf(settings), [...(store === undefined ? [] : [store]), served])
})

test('a wrong option of the store is reported at its place in the file', async (t) => {
  for (const [settings, place] of [
    [{ store: { sqlite: { directry: './x' } } }, 'store.sqlite.directry'],
    [{ stateDirectory: '' }, 'stateDirectory'],
  ] as const) {
    const list = registry(RegistrySettings.parse({ auth: { mode: 'anonymous' }, ...settings }))
    const locate = (path: readonly (string | number)[]): string => path.join('.')
    await assert.rejects(booted(t, list, { locate }), (error: Error) => error.message.includes(place))
  }
})

test('further plugins get their requested positions in the list', () => {
  const plugins = [
    { use: './a.js', before: 'registry/api' },
    { use: './b.js', id: 'b', after: 'registry/api' },
    { use: './c.js', after: 'b' },
    { use: './d.js' },
  ]
  const names = namesIn(registry(RegistrySettings.parse({ ...anonymous, plugins })))
  const from = names.indexOf('./a.js')
  assert.deepEqual(names.slice(from), ['./a.js', 'registry/api', 'b', './c.js', 'pages/browse', './d.js'])
})

test('a wrong option of a source is reported at its place in the file', async (t) => {
  const sources = [
    { name: 'own', file: { paht: './x.json' } },
    { name: 'far', http: { url: 'ftp://x' } },
    { name: 'other', use: 'source/git', with: { url: '-x' } },
  ]
  const list = registry(RegistrySettings.parse({ ...anonymous, sources }))
  await assert.rejects(booted(t, list), (error: Error) => {
    for (const place of ['sources[0].file.paht', 'sources[1].http.url', 'sources[2].with.url']) {
      assert.ok(error.message.includes(place), `${place} in ${error.message}`)
    }
    return true
  })
})

test('the example runs as it stands', async (t) => {
  const settings = RegistrySettings.parse({
    ...parse(readFileSync(example, 'utf8')),
    address: '127.0.0.1:0',
    internalAddress: '127.0.0.1:0',
  })
  const { addresses } = await serving(t, registry(settings), { folder: dirname(example) })
  const text = async (url: string) => {
    const response = await fetch(url)
    assert.equal(response.status, 200, url)
    return response.text()
  }
  const list = JSON.parse(await text(`${addresses.main}/registry/default/v0.1/servers?version=latest`))
  assert.equal(list.metadata.count, 10)
  assert.equal(await text(`${addresses.internal}/readiness`), '{"status":"ready"}')
  assert.match(await text(`${addresses.main}/`), /href="\/registry\/default"/)
  assert.match(await text(`${addresses.main}/openapi.json`), /"3\.1\.0"/)
  assert.match(
    await text(`${addresses.internal}/metrics`),
    /sallyport_registry_versions\{registry="default"\} 12/,
  )
  for (const path of ['/health', '/readiness', '/version', '/metrics']) {
    assert.equal((await fetch(addresses.main + path)).status, 404, path)
  }
})

test('oauth: the API and the pages need a token, except public paths', async (t) => {
  const issuer = await issuing(t)
  const auth = {
    publicPaths: ['/registry/open'],
    oauth: { resourceUrl: 'https://registry.example.com', providers: [issuer.provider] },
  }
  const source = { name: 'own', file: { path: join(dirname(example), 'servers.json') } }
  const registries = ['open', 'closed'].map((name) => ({ name, sources: ['own'] }))
  const settings = { auth, sources: [source], registries, stateDirectory: null, address: '0.0.0.0:8080' }
  const app = await booted(t, registry(RegistrySettings.parse(settings)))
  const status = async (url: string, headers: Record<string, string> = {}) =>
    (await app.inject({ url, headers })).statusCode
  const authorization = `Bearer ${await issuer.jwt()}`

  for (const path of [
    '/registry/closed',
    '/registry/closed/v0.1/servers',
    '/registry/closed/servers/a%2Fb',
  ]) {
    const refused = await app.inject(path)
    assert.equal(refused.statusCode, 401, path)
    assert.match(
      String(refused.headers['www-authenticate']),
      /resource_metadata="https:\/\/registry\.example\.com/,
    )
    assert.notEqual(await status(path, { authorization }), 401, path)
    assert.notEqual(await status(path.replace('closed', 'open')), 401, path)
  }
  const open = await app.inject('/registry/open/v0.1/servers')
  assert.equal(open.headers['cache-control'], 'public, max-age=30')
  const home = await app.inject('/')
  assert.match(home.body, /\/registry\/open"/)
  assert.doesNotMatch(home.body, /closed/)
  assert.match(home.body, /oauth-protected-resource/)
  assert.equal(await status('/openapi.json'), 200)
  assert.equal(await status('/.well-known/oauth-protected-resource'), 200)
})

test('RS-32 T7: on loopback a foreign host and a foreign origin are refused, unless they are listed', async (t) => {
  const settings = {
    ...anonymous,
    address: '127.0.0.1:0',
    internalAddress: '127.0.0.1:0',
    allowedOrigins: ['https://ui.example.com'],
    allowedHosts: ['registry.example.com'],
  }
  const { addresses } = await serving(t, registry(RegistrySettings.parse(settings)))
  const { host, port, hostname } = new URL(addresses.main ?? '')
  const asked = (hostname: string, port: string, path: string, headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      request({ hostname, port, path, headers }, (response) => {
        resolve(response.resume().statusCode)
      })
        .on('error', reject)
        .end()
    })
  const status = (headers: Record<string, string>) =>
    asked(hostname, port, '/registry/default/v0.1/servers', headers)
  assert.equal(await status({ host }), 200)
  assert.equal(await status({ host: 'registry.example.com' }), 200)
  assert.equal(await status({ host: `evil.example.com:${port}` }), 403)
  assert.equal(await status({ host, origin: 'https://ui.example.com' }), 200)
  assert.equal(await status({ host, origin: `http://localhost:${port}` }), 200)
  assert.equal(await status({ host, origin: 'https://evil.example.com' }), 403)
  assert.equal(await status({ host, origin: 'null' }), 403)

  const internal = new URL(addresses.internal ?? '')
  for (const path of ['/health', '/readiness', '/version', '/metrics', '/nothing']) {
    const known = path === '/nothing' ? 404 : 200
    for (const [name, expected] of [
      [internal.host, known],
      [`localhost:${internal.port}`, known],
      ['[::1]:9000', known],
      [`evil.example.com:${internal.port}`, 403],
      ['127.0.0.1.evil.example.com', 403],
      ['127.0.0.1@evil.example.com', 400],
    ] as const) {
      assert.equal(await asked(internal.hostname, internal.port, path, { host: name }), expected, name + path)
    }
  }
})

test('no cache reuses the response for one listed origin for another', async (t) => {
  const origin = 'https://ui.example.com'
  const settings = { ...anonymous, allowedOrigins: [origin], allowedHosts: ['localhost:80'] }
  const app = await booted(t, registry(RegistrySettings.parse(settings)))
  for (const url of ['/registry/default/v0.1/servers', '/registry/default', '/']) {
    const { headers } = await app.inject({ url, headers: { origin } })
    assert.equal(headers['access-control-allow-origin'], origin)
    assert.match(String(headers.vary), /Origin/, url)
    assert.match(String(headers.vary), /Authorization/, url)
  }
})

const oidc = { name: 'corp', issuerUrl: 'https://idp.example.com/', audience: 'registry' }

/** What the preset or a plugin finds wrong, at its place in the file. */
async function signInProblems(oauth: object, mode = 'oauth'): Promise<readonly string[]> {
  const resourceUrl = 'https://registry.example.com'
  const auth = { mode, oauth: { resourceUrl, providers: [oidc], ...oauth } }
  const { data, error } = RegistrySettings.safeParse({ auth, stateDirectory: null })
  if (data === undefined) return error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
  const locate = (path: readonly (string | number)[]): string => path.join('.')
  try {
    await planList(registry(data), contextFor({ locate }))
    return []
  } catch (thrown) {
    assert.ok(thrown instanceof ConfigError)
    return thrown.problems.map(({ place, message }) => `${place.replace(/ \(.*\)$/, '')}: ${message}`)
  }
}

test('people sign in at the first provider, or at the named one', async (t) => {
  const other = { ...oidc, name: 'other', issuerUrl: 'https://other.example.com', allowPrivateIP: true }
  const signIn = { clientId: 'pages', clientSecret: 'the-secret-of-pages', provider: 'other' }
  const oauth = { resourceUrl: 'https://registry.example.com', providers: [oidc, other] }
  const listOf = (given: object) =>
    registry(RegistrySettings.parse({ auth: { oauth: { ...oauth, signIn: given } }, stateDirectory: null }))
  const withOf = (list: List) =>
    list.filter((item): item is Entry => !isScope(item)).find(({ use }) => use === 'pages/sign-in')?.with
  assert.deepEqual(withOf(listOf(signIn)), {
    clientId: 'pages',
    clientSecret: 'the-secret-of-pages',
    scopes: ['openid'],
    resourceUrl: 'https://registry.example.com',
    issuerUrl: 'https://other.example.com',
    allowPrivateIP: true,
  })
  const first = withOf(listOf({ clientId: 'pages' })) as { readonly issuerUrl: string }
  assert.equal(first.issuerUrl, oidc.issuerUrl)
  const file = join(
    folder(t, { 'r.json': JSON.stringify({ auth: { oauth: { ...oauth, signIn } } }) }),
    'r.json',
  )
  const printed = program(t, ['registry', '--config', file, '--print-plugins'])
  assert.equal(await printed.ended(), 0, printed.output.stderr)
  assert.match(printed.output.stdout, /pages\/sign-in[\s\S]*clientSecret: "?\*\*\*/)
  assert.doesNotMatch(printed.output.stdout, /the-secret-of-pages/)
})

test('a sign-in that cannot work is refused at its place', async () => {
  const signIn = { clientId: 'pages' }
  const kubernetes = { type: 'kubernetes', audience: 'registry' }
  const at = 'auth.oauth.signIn'
  assert.deepEqual(await signInProblems({ signIn }), [])
  assert.deepEqual(await signInProblems({ signIn, resourceUrl: 'http://127.0.0.1:8080' }), [])
  for (const [oauth, expected] of [
    [{ signIn: {} }, /^auth\.oauth\.signIn\.clientId: /],
    [{ signIn: { ...signIn, clientID: 'x' } }, /clientID/],
    [{ signIn: { ...signIn, provider: 'nobody' } }, /^auth\.oauth\.signIn\.provider: .*known are: corp$/],
    [{ signIn, providers: [kubernetes, oidc] }, /^auth\.oauth\.signIn: .*kubernetes/],
    [
      { signIn: { ...signIn, provider: 'kubernetes' }, providers: [oidc, kubernetes] },
      /^auth\.oauth\.signIn\.provider: /,
    ],
    [{ signIn, providers: [{ type: './own.js', name: 'own' }] }, /^auth\.oauth\.signIn: .*own/],
    [{ signIn, resourceUrl: 'http://registry.example.com' }, /^auth\.oauth\.resourceUrl: .*https/],
    [
      { signIn, providers: [{ ...oidc, issuerUrl: 'http://127.0.0.1:1', jwksUrl: 'https://keys.example' }] },
      /^auth\.oauth\.providers\.0\.allowPrivateIP: is needed/,
    ],
    [
      { signIn: { ...signIn, clientSecret: 'x', clientSecretFile: './x' } },
      /^auth\.oauth\.signIn\.clientSecretFile: /,
    ],
    [{ signIn: { ...signIn, scopes: ['a b'] } }, /^auth\.oauth\.signIn\.scopes/],
  ] as const) {
    const [first = '', ...more] = await signInProblems(oauth)
    assert.match(first, expected)
    assert.deepEqual(more, [])
  }
  const anonymous = await signInProblems({ signIn }, 'anonymous')
  assert.match(anonymous.join(), new RegExp(`^${at}: excludes mode anonymous`))
})

test('the drain delay of a registry is that of its port', () => {
  const [listen] = registry(RegistrySettings.parse({ ...anonymous, drainDelay: 5_000 }))
  assert.deepEqual(listen && !isScope(listen) && listen.with, {
    address: '127.0.0.1:8080',
    drainDelay: '5000ms',
  })
})

test('an invalid database URL ends the start, and no message shows its password', async (t) => {
  const at = async (url: string) => {
    const home = folder(t, {
      'registry.json': JSON.stringify({
        auth: { mode: 'anonymous' },
        address: '127.0.0.1:0',
        internalAddress: '127.0.0.1:0',
        store: { postgres: { url } },
        stateDirectory: null,
      }),
    })
    const started = program(t, ['registry', '--config', join(home, 'registry.json')], { patience: 60 })
    const status = await started.ended()
    return { status, said: started.output.stderr + started.output.stdout }
  }
  const urls = ['mysql://me:the-secret@db.example/x', 'postgres://me:the-secret#1@db.example/x', 'the-secret']
  for (const { status, said } of await Promise.all(urls.map(at))) {
    assert.equal(status, 2, said)
    assert.match(said, /store\.postgres\.url.*expected a URL such as postgres:/s)
    assert.doesNotMatch(said, /the-secret|\n\s+at /)
  }
})

test('processes that share a database or a directory, and the key of the cookies, share ended sessions', () => {
  const signIn = { clientId: 'pages', scopes: ['openid'], cookieKeyFile: './cookie.key' }
  const providers = [{ name: 'corp', issuerUrl: 'https://idp.example.com', audience: 'registry' }]
  const settings = (own: object, store: object) => ({
    auth: { oauth: { resourceUrl: 'https://r.example.com', providers, signIn: { ...signIn, ...own } } },
    store,
  })
  const stateOf = (own: object, store: object) =>
    registry(RegistrySettings.parse(settings(own, store))).filter(
      ({ use }) => typeof use === 'string' && use.startsWith('state/'),
    )
  const postgres = { url: 'postgres://db.example.com/registry', directory: './copies' }
  assert.deepEqual(
    stateOf({}, { postgres }).map((entry) => entry.with),
    [{ url: postgres.url, passphraseFile: './cookie.key' }],
  )
  assert.deepEqual(stateOf({ cookieKeyFile: undefined }, { postgres }), [])
  const directory = './state'
  assert.deepEqual(
    stateOf({}, { sqlite: { directory } }).map((entry) => entry.with),
    [{ directory, passphraseFile: './cookie.key' }],
  )
  assert.deepEqual(stateOf({}, { sqlite: {} }), [])
})
