import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { planOf } from '#cli/config/all-problems.js'
import { readList } from '#cli/config/read-list.js'
import { examine } from '#cli/tools/doctor/examine.js'
import { folder } from '#kit/folder.js'
import { authority, tlsListening } from '#kit/tls.js'
import { http2Target } from './http2-target.js'

async function looked(t: TestContext, target: string, targetCaCert: string, ...more: readonly object[]) {
  const list = [...more, { use: 'forward/http2', with: { target, targetCaCert } }]
  const home = folder(t, { 'list.json': JSON.stringify(list) })
  const planned = await planOf(await readList(join(home, 'list.json'), process.env))
  assert.ok('plan' in planned, JSON.stringify(planned))
  const findings = await examine(planned.plan, home)
  return findings
    .filter(({ about }) => about === 'forward/http2')
    .map(({ check, state, code }) => [check, state, code])
}

test('doctor greets a target by HTTP/2, with the token that requests would have', async (t) => {
  const { target, ca } = await http2Target(t, (server) =>
    server.on('stream', (stream, { authorization, accept, ':authority': host, ':path': path }) => {
      const known = path === '/mcp?a' && accept !== undefined && target.endsWith(String(host))
      stream.respond({ ':status': !known ? 400 : authorization === 'Bearer right' ? 200 : 401 })
      stream.end()
    }),
  )
  const url = `${target}/mcp?a`
  for (const [token, state, code] of [
    ['right', 'ok', 'OK'],
    ['wrong', 'wrong', 'CREDENTIAL_REFUSED'],
  ] as const) {
    const found = await looked(t, url, ca.file, { use: 'credential/static-bearer', with: { token } })
    assert.deepEqual(found.slice(-2), [
      ['target', 'ok', 'OK'],
      ['credential', state, code],
    ])
  }
})

test('doctor finds a target that speaks no HTTP/2', async (t) => {
  const ca = authority(t)
  const port = await tlsListening(t, ca.issue(['127.0.0.1']), (_request, response) => response.end())
  const found = await looked(t, `https://127.0.0.1:${port}/mcp`, ca.file)
  assert.deepEqual(found.slice(-2), [
    ['TLS', 'ok', 'OK'],
    ['target', 'wrong', 'TARGET_FAILED'],
  ])
})
