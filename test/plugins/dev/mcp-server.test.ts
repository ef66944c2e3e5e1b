import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serving } from '#kit/booted.js'
import { closedPort } from '#kit/listening.js'

test('the sample server needs its token, and whoami returns the caller and credential that it received', async (t) => {
  const address = new URL(await closedPort()).host
  await serving(t, [{ use: 'dev/mcp-server', with: { address, token: 'the-token-of-the-sample' } }])
  const call = (name: string, given: object, authorization: string) =>
    fetch(`http://${address}/mcp`, {
      method: 'POST',
      headers: {
        authorization,
        'x-caller': 'ada',
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: given },
      }),
    })
  const said = async (name: string, given: object): Promise<string> => {
    const answer: unknown = await (await call(name, given, 'Bearer the-token-of-the-sample')).json()
    return JSON.stringify(answer)
  }

  assert.equal((await call('add', { a: 1, b: 2 }, 'Bearer another')).status, 401)
  assert.match(await said('add', { a: 1.5, b: 2 }), /"text":"3\.5"/)
  assert.match(await said('roll', { dice: 2 }), /"text":"[1-6] [1-6]"/)
  assert.match(await said('whoami', {}), /You are ada\. .*Bearer the-token-of/)
})
