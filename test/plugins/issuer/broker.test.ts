import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { Application, brokered } from './brokered.js'

test('an official client registers at the broker, a person signs in, and a call passes', async (t) => {
  const { url, origin, issuer, lines } = await brokered(t)
  const application = new Application()
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: application })
  await assert.rejects(
    new Client({ name: 'test', version: '1' }).connect(transport as never),
    UnauthorizedError,
  )
  await transport.finishAuth(application.code)
  const client = new Client({ name: 'test', version: '1' })
  t.after(() => client.close())
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { authProvider: application }) as never,
  )
  const { content } = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
  assert.deepEqual(content, [{ type: 'text', text: '3' }])
  const token = application.saved?.access_token ?? ''
  const { iss, aud, sub, idp, name, scope, client_id: clientId } = decodeJwt(token)
  assert.deepEqual(
    { iss, aud, sub, idp, name, scope },
    { iss: origin, aud: url, sub: 'alice', idp: issuer.url, name: 'Alice', scope: 'tools' },
  )
  assert.equal(clientId, application.client?.client_id)
  assert.equal(decodeProtectedHeader(token).typ, 'at+jwt')
  assert.ok(application.saved?.refresh_token)
  assert.ok(!issuer.requests.some((each) => each.includes('/reg')))
  for (const secret of [token, application.code]) assert.ok(!JSON.stringify(lines).includes(secret))
})
