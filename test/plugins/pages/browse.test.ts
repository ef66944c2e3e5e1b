import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booted } from 'sallyport/testing'
import { fileRegistry, server, wrapped } from '../registry/registry.js'

const hostile = '<img src=x onerror=alert(1)>"\'&'

const evil = server('a.example/evil', '1.0.0', {
  title: hostile,
  description: hostile,
  websiteUrl: 'javascript:alert(1)',
  repository: { url: 'data:text/html,x', source: hostile },
  remotes: [
    {
      type: 'streamable-http',
      url: `https://x/${hostile.replaceAll(' ', '')}`,
      headers: [{ name: hostile }],
    },
  ],
  packages: [
    {
      registryType: 'npm',
      identifier: `x";${hostile}`,
      runtimeHint: 'sh',
      transport: { type: 'stdio' },
      packageArguments: [{ type: 'named', name: '--a', value: '$(touch x)' }],
      environmentVariables: [{ name: 'KEY', isSecret: true }],
    },
    { registryType: 'shell', identifier: 'rm -rf /', runtimeHint: 'sh', transport: { type: 'stdio' } },
  ],
})

const documents = [
  evil,
  ...Array.from({ length: 40 }, (_, index) =>
    server(`b.example/s${String(index).padStart(2, '0')}`, '1.0.0'),
  ),
  server('c.example/two', '1.0.0', { websiteUrl: 'https://two.example.com/' }),
  server('c.example/two', '2.0.0'),
  wrapped(server('c.example/gone', '1.0.0'), { status: 'deleted' }),
]

const withPages = (list: ReturnType<typeof fileRegistry>['list'], options: object = { anonymous: true }) => [
  ...list,
  { use: 'pages/browse', with: options },
]

test('a document is never markup, and only http and https URLs become links', async (t) => {
  const app = await booted(t, withPages(fileRegistry(t, documents).list))
  for (const url of ['/registry/default', '/registry/default/servers/a.example%2Fevil']) {
    const { body, statusCode } = await app.inject(url)
    assert.equal(statusCode, 200)
    assert.doesNotMatch(body, /<img/)
    assert.ok(body.includes('&lt;img'))
    for (const [, href = ''] of body.matchAll(/ href="([^"]*)"/g))
      assert.match(href, /^(?:\/|#|https?:|vscode:mcp\/install\?|cursor:\/\/anysphere\.)/)
    assert.doesNotMatch(body, /<[^>]* (?:on\w+|style)=|<style/)
    assert.doesNotMatch(
      body.replaceAll(/<script src="\/assets\/browse\.js" defer><\/script>/g, ''),
      /<script/,
    )
  }
})

test('a document cannot choose the program to run', async (t) => {
  const app = await booted(t, withPages(fileRegistry(t, documents).list))
  const { body } = await app.inject('/registry/default/servers/a.example%2Fevil')
  assert.match(body, /&quot;command&quot;: &quot;npx&quot;/)
  assert.doesNotMatch(body, /&quot;sh&quot;|rm -rf/)
})

test('every page has a strict content security policy', async (t) => {
  const app = await booted(t, withPages(fileRegistry(t, documents).list))
  for (const url of [
    '/',
    '/registry/default',
    '/registry/default/servers/c.example%2Ftwo',
    '/registry/none',
  ]) {
    const { headers } = await app.inject(url)
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /default-src 'none'/)
    assert.doesNotMatch(policy, /unsafe|\*|data:/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.match(String(headers['content-type']), /^text\/html/)
  }
})

test('search, pages of the list, versions, and 404', async (t) => {
  const app = await booted(t, withPages(fileRegistry(t, documents).list))
  const get = async (url: string) => {
    const { statusCode, body } = await app.inject(url)
    return { statusCode, body }
  }
  const first = await get('/registry/default')
  const next = /<a rel="next" href="([^"]+)"/.exec(first.body)?.[1] ?? ''
  const second = await get(next.replaceAll('&amp;', '&'))
  assert.match(second.body, /c\.example\/two/)
  assert.doesNotMatch(second.body, /rel="next"|c\.example\/gone|b\.example\/s00/)

  assert.match((await get('/registry/default?search=TWO')).body, /c\.example\/two · 2\.0\.0/)
  assert.match((await get(`/registry/default?search=${encodeURIComponent(`${hostile}x`)}`)).body, /No server/)
  for (const odd of ['cursor=x', 'search=a&search=b', `search=${'x'.repeat(300)}`]) {
    assert.equal((await get(`/registry/default?${odd}`)).statusCode, 200, odd)
  }
  const old = await get('/registry/default/servers/c.example%2Ftwo/1.0.0')
  assert.match(old.body, /href="https:\/\/two\.example\.com\/" rel="noopener noreferrer nofollow"/)
  for (const missing of [
    'none',
    'default/servers/x%2Fy',
    'default/servers/c.example%2Ftwo/9',
    'default/servers/c.example%2Fgone',
  ]) {
    assert.equal((await get(`/registry/${missing}`)).statusCode, 404, missing)
  }
})

test('without anonymous mode the home page lists public registries only', async (t) => {
  const list = withPages(fileRegistry(t, documents).list, { anonymous: false })
  const closed = await booted(t, list)
  const { body, statusCode } = await closed.inject('/')
  assert.equal(statusCode, 200)
  assert.doesNotMatch(body, /default/)
  assert.match(body, /href="\/\.well-known\/oauth-protected-resource"/)

  for (const [path, shown] of [
    ['/registry/default', true],
    ['/registry', true],
    ['/registry/default/v0.1', false],
    ['/registry/defaults', false],
  ] as const) {
    const app = await booted(t, [...list, { use: 'auth/public-paths', with: { paths: [path] } }])
    assert.equal((await app.inject('/')).body.includes('/registry/default"'), shown, path)
  }
})

test('links stay inside a scope', async (t) => {
  const { list } = fileRegistry(t, documents)
  const app = await booted(t, [{ scope: '/team', plugins: withPages(list) }])
  const { body } = await app.inject('/team/registry/default/servers/c.example%2Ftwo')
  for (const [, href = ''] of body.matchAll(/ (?:href|src)="(\/[^"]*)"/g)) {
    assert.match(href, /^\/team\//)
    assert.notEqual((await app.inject(href)).statusCode, 404, href)
  }

  const closed = withPages(fileRegistry(t, documents).list, { anonymous: false })
  const open = { use: 'auth/public-paths', with: { paths: ['/registry/default'] } }
  const inScope = await booted(t, [{ scope: '/team', plugins: [...closed, open] }])
  const home = (await inScope.inject('/team/')).body
  assert.match(home, /href="\/team\/registry\/default"/)
  const closedInScope = await booted(t, [{ scope: '/team', plugins: closed }])
  const [, metadata = ''] =
    /href="([^"]*oauth-protected-resource[^"]*)"/.exec((await closedInScope.inject('/team/')).body) ?? []
  assert.equal(metadata, '/.well-known/oauth-protected-resource/team')
})

test('an unknown date is on no page', async (t) => {
  const updatedAt = '2025-03-01T12:00:00Z'
  const known = wrapped(server('a.example/known', '1.0.0'), { updatedAt })
  const app = await booted(t, withPages(fileRegistry(t, [server('a.example/one', '1.0.0'), known]).list))
  const page = async (name: string) =>
    (await app.inject(`/registry/default/servers/${encodeURIComponent(name)}`)).body
  const one = await page('a.example/one')
  assert.match(one, /a\.example\/one/)
  assert.doesNotMatch(one, /1970|Published/)
  assert.match(
    await page('a.example/known'),
    /<p class="quiet">Changed <time datetime="2025-03-01T12:00:00.000Z">/,
  )
})
