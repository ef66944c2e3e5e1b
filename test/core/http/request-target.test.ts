import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { routedTarget } from '#core/http/request-target.js'
import { serving } from '#kit/booted.js'
import { listen, plugin } from '#kit/plugin.js'
import { requestRaw } from '#kit/raw.js'
import { runs } from '#kit/runs.js'

const echo = plugin('echo', ({ http }) => {
  http.get('/*', { config: { public: true } }, ({ originalUrl }) => originalUrl)
  http.get('/named', () => 'closed')
})
const list = [echo, listen]

test('a path that cannot be decoded matches a route, whose handler gets the original', async (t) => {
  const { main = '' } = (await serving(t, list)).addresses

  for (const url of ['/%zz', '/%', '/a%ff/b', '/%c3%28?q=%zz', '/ok%20/%e']) {
    assert.deepEqual(await requestRaw(main, `GET ${url}`), { status: 200, body: url })
  }
})

test('an absolute target is routed by its path alone', async (t) => {
  const { main = '' } = (await serving(t, list)).addresses

  for (const url of ['http://gateway/named', 'HTTPS://evil:1/named', 'http://named/named?x']) {
    assert.equal((await requestRaw(main, `GET ${url}`)).status, 401, url)
  }
  for (const url of ['http://evil', 'http://evil?x', 'http://evil/%zz']) {
    assert.deepEqual(await requestRaw(main, `GET ${url}`), { status: 200, body: url })
  }
})

test('every path passes a gate and arrives unchanged (T17)', async (t) => {
  const { main = '' } = (await serving(t, list)).addresses
  const piece = fc.constantFrom('%', '%2', '%6e', '%2F', '%zz', '%ff', '%c3%a4', 'named', '/', '.', ';', '\\')

  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
      const url = `/${pieces.join('')}`
      const { status, body } = await requestRaw(main, `GET ${url}`)
      const isNamed = url.replaceAll('%6e', 'n') === '/named'
      assert.equal(status, isNamed ? 401 : 200, url)
      if (!isNamed) assert.equal(body, url)
    }),
    { numRuns: runs(200) },
  )
})

test('T16: thousands of percent signs that begin no text take one attempt to decode them', (t) => {
  const decode = t.mock.method(globalThis, 'decodeURIComponent')
  for (const piece of ['%', '%/', '%ff/', '%zz', '%c3a', '%ed%a0%80/', '%41%']) {
    const routed = routedTarget(`/${piece.repeat(3_000)}`)
    assert.equal(decode.mock.callCount(), 1, piece)
    assert.ok(decodeURIComponent(routed).startsWith('/'), piece)
    decode.mock.resetCalls()
  }
})
