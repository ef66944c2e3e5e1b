import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { mcpTarget } from '#kit/mcp-target.js'
import { listen } from '#kit/plugin.js'

const legacyClient: string = '@modelcontextprotocol/sdk/client/sse.js'
const { SSEClientTransport } = await import(legacyClient)

const PREFIX = '/corp/mcp'

/** A proxy in front that serves what is below its prefix, and removes it. Returns where clients find the gateway. */
async function inFront(t: TestContext, target: string): Promise<string> {
  const forwarder = { use: 'forward/http', with: { target, removedPrefix: PREFIX } }
  const { addresses } = await serving(t, [
    listen,
    { use: 'auth/anonymous' },
    { scope: '/notes', plugins: [forwarder] },
    forwarder,
  ])
  const front = await listening(t, (request, response) => {
    const { method, headers, url = '' } = request
    if (!url.startsWith(`${PREFIX}/`)) return response.writeHead(404).end('elsewhere')
    const path = url.slice(PREFIX.length)
    const passed = httpRequest(addresses.main ?? '', { method, headers, path, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(response)
    })
    response.on('close', () => passed.destroy())
    return request.pipe(passed)
  })
  return front + PREFIX
}

test('a redirect of the target leads through a proxy in front that removes a prefix', async (t) => {
  const target = await listening(t, ({ url = '', headers }, response) => {
    const location = String(headers['x-location']).replace('ORIGIN', target)
    if (url.endsWith('?from')) response.writeHead(307, { location }).end()
    else response.end(url)
  })
  const gateway = await inFront(t, `${target}/api/mcp`)

  for (const path of ['/', '/api/mcp', '/notes', '/notes/', '/notes/api/mcp'])
    for (const location of ['ORIGIN/api/mcp/', '/api/mcp/', 'ORIGIN/api/mcp/a?b=%2e%2e%2f#c']) {
      const response = await fetch(`${gateway + path}?from`, { headers: { 'x-location': location } })
      const reached = location.replace('ORIGIN', '').replace('#c', '')
      assert.equal(await response.text(), reached, `${path} ${location}`)
    }

  const headers = { 'x-location': 'ORIGIN/login' }
  const outside = await fetch(`${gateway}/notes?from`, { headers, redirect: 'manual' })
  assert.equal(outside.headers.get('location'), `${target}/login`)
})

test('a legacy SSE server works behind a proxy in front that removes a prefix', async (t) => {
  const target = await mcpTarget(t, { era: '2024-11-05' })
  const gateway = await inFront(t, target.url)

  for (const path of ['/', '/sse', '/notes', '/notes/sse']) {
    const client = new Client({ name: 'test', version: '1' })
    t.after(() => client.close())
    await client.connect(new SSEClientTransport(new URL(gateway + path)))
    const { content } = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })
    assert.deepEqual(content, [{ type: 'text', text: '5' }], path)
  }
})

test('a prefix that clients could take for a host, or that is not a path, stops the start', async (t) => {
  for (const removedPrefix of ['//evil.example', '/a//b', '/a/', '/', 'a', '/a?b', '/a\\b', '/a\nb']) {
    const list = [{ use: 'forward/http', with: { target: 'http://127.0.0.1:9/mcp', removedPrefix } }]
    await assert.rejects(
      serving(t, list),
      { code: 'CONFIG_INVALID', message: /removedPrefix/ },
      removedPrefix,
    )
  }
})
