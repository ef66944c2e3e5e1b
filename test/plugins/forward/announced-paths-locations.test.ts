import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import fc from 'fast-check'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { mcpTarget } from '#kit/mcp-target.js'
import { listen } from '#kit/plugin.js'
import { runs } from '#kit/runs.js'
import { proxied, send } from './proxied.js'

/**
 * A target at `/api/mcp` that redirects requests with the query `from` to the URL in their header, and responds to
 * others with the URL of the request.
 */
async function redirecting(t: Parameters<typeof listening>[0], status = 307) {
  const target = await listening(t, ({ url = '', headers }, response) => {
    const { 'x-location': location = '' } = headers
    if (!url.endsWith('?from')) response.end(url)
    else response.writeHead(status, { location: String(location).replace('ORIGIN', target) }).end()
  })
  const forwarder = (at: string) => ({ use: 'forward/http', with: { target: target + at } })
  const { addresses } = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    { scope: '/notes', plugins: [forwarder('/api/mcp')] },
    { scope: '/whole', plugins: [forwarder('')] },
    forwarder('/api/mcp'),
  ])
  const main = addresses.main ?? ''
  /** Where a client goes for this location, and what it gets there if it is on the gateway. */
  const follow = async (path: string, location: string) => {
    const { status: got, headers } = await send(main, {
      path: `${path}?from`,
      headers: { 'x-location': location },
    })
    assert.equal(got, status)
    const sent = String(headers['location'])
    const to = URL.canParse(sent, main + path) ? new URL(sent, main + path) : undefined
    const answer = to?.origin === main ? await send(main, { path: to.pathname + to.search }) : undefined
    return { sent, to, reached: answer?.body }
  }
  return { target, main, follow }
}

test('a redirect of the target leads clients through the gateway', async (t) => {
  for (const status of [201, 301, 302, 303, 307, 308]) {
    const { follow } = await redirecting(t, status)
    for (const path of ['/', '/api/mcp', '/notes', '/notes/api/mcp', '/whole/api/mcp'])
      for (const location of ['ORIGIN/api/mcp/', '/api/mcp/', 'ORIGIN/api/mcp/a?b=%2e%2e%2f#c']) {
        const { to, reached } = await follow(path, location)
        assert.equal(reached, location.replace('ORIGIN', '').replace('#c', ''), `${path} ${location}`)
        assert.equal(to?.hash, location.includes('#') ? '#c' : '')
      }
  }
})

test('a location that already works, or leads outside the gateway, passes unchanged', async (t) => {
  const { follow, target } = await redirecting(t)
  for (const [path, location] of [
    ['/api/mcp', '/api/mcp/'],
    ['/api/mcp', './mcp/?a'],
    ['/notes/api/mcp', 'mcp/'],
    ['/notes', '/login'],
    ['/notes', 'ORIGIN/login'],
    ['/notes', '//evil.example/api/mcp'],
    ['/notes', 'ORIGIN/api/mcp/\u00c3\u00a9'],
    ['/notes', 'https://idp.example/authorize?redirect_uri=x'],
    ['/notes', 'http://'],
    ['/notes', 'http://user:secret@127.0.0.1:1/api/mcp'],
  ] as const) {
    const { sent } = await follow(path, location)
    assert.equal(sent, location.replace('ORIGIN', target), `${path} ${location}`)
  }
})

test('a path that clients would take for a host passes unchanged, also in an announced endpoint', async (t) => {
  const target = await listening(t, ({ url }, response) => {
    const location = `${target}//evil.example/a`
    if (url === '/from') response.writeHead(307, { location }).end()
    else if (url === '/sse')
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`event: endpoint\ndata: ${location}\n\n`)
    else response.end(url)
  })
  const { main } = await proxied(t, target)

  const { headers } = await send(main, { path: '/from' })
  assert.equal(headers['location'], `${target}//evil.example/a`)
  const { body } = await send(main, { path: '/sse' })
  const endpoint = new URL(/^data: (.*)$/m.exec(body)?.[1] ?? '', main)
  assert.equal(endpoint.origin, main)
  assert.equal((await send(main, { method: 'POST', path: endpoint.pathname })).body, '//evil.example/a')
})

test('any location leads where the target sends clients, or to the same path through the gateway', async (t) => {
  const { follow, main, target } = await redirecting(t)
  const segment = fc.constantFrom(
    'api',
    'mcp',
    'notes',
    'whole',
    '',
    '.',
    '..',
    '%2e%2e',
    'a%2fb',
    'x;y',
    '\\',
    'evil.example',
  )
  const location = fc
    .tuple(
      fc.constantFrom('', '/', '//', 'ORIGIN', 'ORIGIN/', 'ORIGIN//', 'http://evil.example/'),
      fc.array(segment, { maxLength: 5 }),
      fc.constantFrom('', '?a=/b', '#c', '?'),
    )
    .map(([start, segments, end]) => start + segments.join('/') + end)
  const path = fc.constantFrom('/', '/api/mcp', '/notes', '/notes/api/mcp', '/whole', '/whole/api/mcp/')
  await fc.assert(
    fc.asyncProperty(path, location, async (from, given) => {
      const { sent, to, reached } = await follow(from, given)
      const written = given.replace('ORIGIN', target)
      if (sent === written) return
      const atTarget = from.replace(/^\/(?:notes|whole)/, '') || '/'
      const base = from.startsWith('/whole') ? atTarget : atTarget === '/' ? '/api/mcp' : atTarget
      const meant = new URL(written, `${target}${base}?from`)
      // The location leads to itself.
      if (meant.search === '?from') return
      assert.deepEqual([to?.origin, meant.origin], [main, target])
      assert.equal(reached, meant.pathname + meant.search)
    }),
    { numRuns: runs(300) },
  )
})

test('a client follows the redirect of a framework to its path with a slash', async (t) => {
  const server = await mcpTarget(t, { era: '2025-11-25' })
  const { pathname, origin } = new URL(server.url)
  const target = await listening(t, (request, response) => {
    if (request.url !== `${pathname}/`) {
      response.writeHead(307, { location: `http://${request.headers.host}${request.url}/` }).end()
      return
    }
    const chunks: Buffer[] = []
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        const headers = Object.entries(request.headers).flatMap(([name, value]) =>
          ['host', 'connection', 'content-length', 'transfer-encoding'].includes(name)
            ? []
            : [[name, String(value)]],
        )
        const body = chunks.length > 0 ? Buffer.concat(chunks) : null
        void fetch(origin + pathname, {
          method: request.method ?? 'GET',
          headers: headers as [string, string][],
          body,
        }).then(async (answer) => {
          response.writeHead(answer.status, Object.fromEntries(answer.headers))
          response.end(Buffer.from(await answer.arrayBuffer()))
        })
      })
  })
  const { main } = await proxied(t, target + pathname)
  const reached: string[] = []
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(pathname, main), {
    fetch: async (url, init) => {
      const answer = await fetch(url, init)
      reached.push(new URL(answer.url).origin)
      return answer
    },
  })
  await client.connect(transport as Parameters<Client['connect']>[0])
  t.after(() => client.close())
  const { content } = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })
  assert.deepEqual(content, [{ type: 'text', text: '5' }])
  assert.deepEqual([...new Set(reached)], [main])
})
