import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { listening } from '#kit/listening.js'
import { ask, bridged, initialize } from './bridged.js'
import { answerTo } from './session-target.js'

/** A server at `/mcp/` that redirects from `/mcp`, like those that add a slash. */
async function redirecting(t: TestContext, location: (origin: string) => string, status = 307) {
  const asked: string[] = []
  const origin: string = await listening(t, (request, response) => {
    asked.push(`${request.method} ${request.url}`)
    if (request.url?.split('?', 1)[0] !== '/mcp/')
      response.writeHead(status, { location: location(origin) }).end()
    else {
      response.setHeader('content-type', 'application/json')
      void text(request).then((body) => response.end(answerTo(body)))
    }
  })
  return { url: `${origin}/mcp`, asked }
}

for (const status of [307, 308]) {
  test(`the bridge follows a redirect to the path with a slash, and sends further messages there (${status})`, async (t) => {
    for (const location of [() => '/mcp/', (origin: string) => `${origin}/mcp/`]) {
      const { url, asked } = await redirecting(t, location, status)
      const bridge = bridged(t, url)
      bridge.say(initialize())
      assert.deepEqual((await bridge.heard(0))['result'], {})
      bridge.say(ask(1, 'ping'))
      assert.deepEqual((await bridge.heard(1))['result'], {})
      assert.deepEqual(asked, ['POST /mcp', 'POST /mcp/', 'POST /mcp/'])
    }
  })
}

test('the query of a target goes with every message', async (t) => {
  const { url, asked } = await redirecting(t, () => '/mcp/')
  const bridge = bridged(t, `${url}/?project_ref=x`)
  bridge.say(initialize())
  assert.deepEqual((await bridge.heard(0))['result'], {})
  assert.deepEqual(asked, ['POST /mcp/?project_ref=x'])
})

test('no message follows a redirect to another address, nor endless redirects', async (t) => {
  let elsewhereAsked = 0
  const elsewhere = await listening(t, (_request, response) => {
    elsewhereAsked++
    response.end()
  })
  const requests = new Map([
    [`${elsewhere}/mcp/`, 1],
    ['/elsewhere', 1],
    ['/mcpp', 1],
    ['http://', 1],
    ['/mcp', 6],
  ])
  for (const [location, count] of requests) {
    const { url, asked } = await redirecting(t, () => location)
    const bridge = bridged(t, url)
    bridge.say(initialize())
    assert.ok((await bridge.heard(0))['error'] !== undefined, location)
    assert.equal(asked.length, count, location)
  }
  assert.equal(elsewhereAsked, 0)
})
