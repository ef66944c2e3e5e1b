import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { call, send } from '../../forward/proxied.js'
import { startAuthorizationServer } from './authorization-server.js'
import { proxyWithLogin, signInUser } from './proxy-with-login.js'

const DOCUMENT = '/.well-known/oauth-protected-resource/mcp'

test('the Bearer challenge is found among others, in any order, case and quoting (CL-01)', async (t) => {
  const server = await startAuthorizationServer(t)
  const url = `${server.origin}${DOCUMENT}`
  const spellings = [
    `Bearer resource_metadata="${url}", scope="found"`,
    `BEARER scope="found",resource_metadata="${url}"`,
    `Basic realm="a, Bearer b=\\"c\\"", Bearer realm="x", scope=found, resource_metadata="${url}"`,
    `Negotiate, bearer error="invalid_token" , scope="found" , resource_metadata="${url}"`,
    `Negotiate abc==, Bearer Resource_Metadata="${url}", SCOPE="fo\\und"`,
  ]
  const { urls } = signInUser(t)
  for (const challenge of spellings) {
    server.challenge = challenge
    const { main, running } = await proxyWithLogin(t, server.target)
    assert.equal((await send(main, call(1))).status, 200, challenge)
    assert.equal(new URL(urls.at(-1) ?? '').searchParams.get('scope'), 'found', challenge)
    await running.stop(0)
  }
})

test('no challenge crashes or blocks the proxy (CL-01, T16)', async (t) => {
  const server = await startAuthorizationServer(t)
  signInUser(t)
  const { main } = await proxyWithLogin(t, server.target, { timeout: '2s' })
  const printable = fc.string({
    unit: fc.integer({ min: 32, max: 126 }).map((code) => String.fromCodePoint(code)),
  })
  const hard = [
    '"'.repeat(9000),
    'a=b,'.repeat(2000),
    'Bearer '.repeat(1000),
    `Bearer a="${'\\'.repeat(9000)}`,
  ]
  await fc.assert(
    fc.asyncProperty(fc.oneof(printable, fc.constantFrom(...hard)), async (challenge) => {
      server.revokeTokens()
      server.revokeGrant()
      server.challenge = challenge.trim() === '' ? 'Bearer' : challenge
      const since = Date.now()
      const { status } = await send(main, call(1))
      assert.ok([200, 401, 502, 503].includes(status), String(status))
      assert.ok(Date.now() - since < 3000)
    }),
    { numRuns: 20 },
  )
})
