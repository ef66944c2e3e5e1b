import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { proxied, send } from './proxied.js'

const QUERY = '?project_ref=x&read_only=true'

const echo = (t: Parameters<typeof listening>[0]) =>
  listening(t, ({ url = '', headers }, response) => {
    const { 'x-location': location } = headers
    if (location === undefined) response.end(url)
    else response.writeHead(307, { location: String(location) }).end()
  })

for (const base of ['/mcp', '/', '']) {
  test(`the query of a target at "${base}" goes before that of each request`, async (t) => {
    const { main } = await proxied(t, (await echo(t)) + base + QUERY)
    const root = base === '' ? '/' : base
    const below = root === '/' ? '/sub' : `${root}/sub`
    for (const [asked, got] of [
      ['/', root + QUERY],
      [root, root + QUERY],
      ['/?', root + QUERY],
      ['/?a=1&a=2&b', `${root}${QUERY}&a=1&a=2&b`],
      ['/?%20a=%2F;c', `${root}${QUERY}&%20a=%2F;c`],
      [`/sub${QUERY}`, below + QUERY],
      ['/sub?read_only=true&z', `${below}${QUERY}&z`],
    ] as const)
      assert.equal((await send(main, { path: asked })).body, got, asked)
  })
}

test('a request cannot change a parameter in the query of the target', async (t) => {
  const { main } = await proxied(t, `${await echo(t)}/mcp${QUERY}`)
  for (const query of [
    'read_only=false',
    'a=1&read_only=',
    'read_only',
    'read%5Fonly=false',
    'READ_ONLY=false',
    'read_only[]=false',
    'project_ref=x&project_ref=y',
  ]) {
    const { status, body } = await send(main, { path: `/?${query}` })
    assert.deepEqual([status, JSON.parse(body).error], [400, 'query_fixed'], query)
  }
})

test('a redirect to the same target, with its query, leads through the gateway', async (t) => {
  const { main } = await proxied(t, `${await echo(t)}/mcp${QUERY}`)
  const { headers } = await send(main, { headers: { 'x-location': `/mcp/${QUERY}` } })
  const location = new URL(String(headers.location), main)
  assert.equal(location.origin, main)
  assert.equal((await send(main, { path: location.pathname + location.search })).body, `/mcp/${QUERY}`)
})

test('the same query goes to each replica', async (t) => {
  const targets = [`${await echo(t)}/mcp${QUERY}`, `${await echo(t)}/mcp${QUERY}`]
  const list = (urls: readonly string[]) => [
    listen,
    { use: 'auth/anonymous' },
    { use: 'forward/balanced', with: { targets: urls } },
  ]
  const { addresses } = await serving(t, list(targets))
  for (let count = 0; count < 2; count++)
    assert.equal((await send(addresses.main ?? '', { path: '/?a' })).body, `/mcp${QUERY}&a`)
  await assert.rejects(serving(t, list([targets[0] ?? '', 'http://127.0.0.1:9/mcp?other'])), {
    code: 'CONFIG_INVALID',
  })
})
