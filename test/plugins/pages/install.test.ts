import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { booted } from 'sallyport/testing'
import { installMethodsOf } from '#plugins/pages/install.js'
import { fileRegistry, server } from '../registry/registry.js'

const details = (more: object) => ({
  ...{ name: 'a.example/one', version: '1.0.0', status: 'active' as const, isLatest: true },
  ...more,
})

const remote = {
  type: 'streamable-http',
  url: 'https://{tenant}.example.com/mcp',
  variables: { tenant: { description: 'Your <b>tenant', default: 'acme' } },
  headers: [
    {
      name: 'Authorization',
      value: 'Bearer {token}',
      variables: { token: { isSecret: true, description: 'A key' } },
    },
  ],
}

test('variables of a URL and of headers are inputs of VS Code, also in its link', () => {
  const [method] = installMethodsOf(details({ remotes: [remote] }))
  const given = JSON.parse(method?.snippets[0]?.text ?? '')
  const inputs = [
    { type: 'promptString', id: 'TENANT', description: 'Your <b>tenant', password: false, default: 'acme' },
    { type: 'promptString', id: 'TOKEN', description: 'A key', password: true },
  ]
  const entry = {
    type: 'http',
    url: `https://\${input:TENANT}.example.com/mcp`,
    headers: { Authorization: `Bearer \${input:TOKEN}` },
  }
  assert.deepEqual(given, { inputs, servers: { one: entry } })
  const [vsCode, cursor] = method?.links ?? []
  const query = (href = '') => href.slice(href.indexOf('?') + 1)
  assert.deepEqual(JSON.parse(decodeURIComponent(query(vsCode?.href))), { name: 'one', inputs, ...entry })
  // It asks for nothing, and would take the value from the environment: the one that the document named.
  const config = new URLSearchParams(query(cursor?.href)).get('config') ?? ''
  assert.deepEqual(JSON.parse(Buffer.from(config, 'base64').toString('utf8')), {
    url: 'https://<TENANT>.example.com/mcp',
    headers: { Authorization: 'Bearer <TOKEN>' },
  })
})

test('there is no link with a placeholder that a document brings', () => {
  for (const url of [`https://a.example/\${env:HOME}`, `https://a.example/?x=\${input:y}`]) {
    const [method] = installMethodsOf(details({ remotes: [{ type: 'sse', url }] }))
    assert.deepEqual(method?.links, [])
  }
  const variables = { a: { value: '$' }, b: { value: '{env:HOME}' } }
  for (const text of ['{a}{b}', '{a}{env:HOME}']) {
    const inUrl = { type: 'sse', url: `https://a.example/${text}`, variables }
    const inHeader = {
      type: 'sse',
      url: 'https://a.example/',
      headers: [{ name: 'X', value: text, variables }],
    }
    for (const each of [inUrl, inHeader])
      assert.deepEqual(installMethodsOf(details({ remotes: [each] }))[0]?.links, [], JSON.stringify(each))
  }
})

test('a link has one of two schemes and no character of markup, whatever a document has', () => {
  const url = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl(),
    fc
      .tuple(fc.constantFrom('javascript:', 'data:', 'file:', 'JavaScript:', '{x}:', 'https:'), fc.string())
      .map((parts) => parts.join('')),
  )
  const text = fc.string({ unit: 'binary' })
  const headers = fc.array(fc.record({ name: text, value: text }))
  fc.assert(
    fc.property(text, url, headers, (name, given, values) => {
      const remotes = [{ type: 'sse', url: given, headers: values }]
      for (const { links } of installMethodsOf(details({ name, remotes }))) {
        if (links.length > 0) assert.match(given, /^https?:/i)
        for (const { href } of links) {
          assert.ok(['vscode:', 'cursor:'].includes(new URL(href).protocol))
          assert.doesNotMatch(href, /[<>"\s]/)
        }
      }
    }),
  )
})

test('pages show descriptions escaped, how many servers there are, links, and an icon of their own', async (t) => {
  const list = fileRegistry(t, [
    server('a.example/one', '1.0.0', { remotes: [remote] }),
    server('a.example/two', '1.0.0'),
  ]).list
  const app = await booted(t, [...list, { use: 'pages/browse', with: { anonymous: true } }])
  const { body, headers } = await app.inject('/registry/default/servers/a.example%2Fone')
  assert.match(body, /<code>tenant<\/code> Your &lt;b&gt;tenant/)
  assert.match(body, /<a href="vscode:mcp\/install\?[^"]+">Install in VS Code/)
  assert.match(body, /<a href="cursor:\/\/anysphere[^"]+">Install in Cursor/)
  assert.match(body, /<link rel="icon" type="image\/svg\+xml" href="\/assets\/icon\.svg">/)
  assert.match(String(headers['content-security-policy']), /img-src 'self';/)
  assert.match((await app.inject('/registry/default')).body, />2 servers</)
  for (const url of ['/assets/icon.svg', '/favicon.ico']) {
    const icon = await app.inject(url)
    assert.deepEqual([icon.statusCode, icon.headers['content-type']], [200, 'image/svg+xml'])
  }
})
