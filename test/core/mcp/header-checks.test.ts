import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { serving } from '#kit/booted.js'
import { listen } from '#kit/plugin.js'
import { sendRaw } from '#kit/raw.js'
import { ALLOWED, mcpRoute, policy, toolCall } from '../gate/judged.js'

async function gateway(t: TestContext) {
  const { addresses } = await serving(t, [listen, { use: 'auth/anonymous' }, mcpRoute, policy(() => ALLOWED)])
  const send = async (
    body: unknown,
    headers: readonly string[],
    trailers?: readonly string[],
  ): Promise<number> => {
    const text = JSON.stringify(body)
    const lines = ['POST /mcp HTTP/1.1', 'Host: a', 'Content-Type: application/json', ...headers]
    const bytes = Buffer.byteLength(text)
    const framed =
      trailers === undefined
        ? [...lines, 'Connection: close', `Content-Length: ${bytes}`, '', text]
        : [
            ...lines,
            'Connection: close',
            'Transfer-Encoding: chunked',
            '',
            bytes.toString(16),
            text,
            '0',
            ...trailers,
            '',
            '',
          ]
    const answer = await sendRaw(addresses.main ?? '', Buffer.from(framed.join('\r\n')))
    if (answer.startsWith('HTTP/1.1 400')) assert.match(answer, /message_header_mismatch/)
    return Number(answer.slice(9, 12))
  }
  return { send }
}

const MODERN = 'MCP-Protocol-Version: 2026-07-28'
const OLD = 'MCP-Protocol-Version: 2025-11-25'
const METHOD = 'Mcp-Method: tools/call'
const NAME = 'Mcp-Name: search'
const call = toolCall('search')

test('from 2026-07-28 on each header is required once, and must match the body', async (t) => {
  const { send } = await gateway(t)
  assert.equal(await send(call, [MODERN, METHOD, NAME]), 200)
  for (const headers of [
    ...[[MODERN], [MODERN, METHOD], [MODERN, NAME], ['MCP-Protocol-Version: 2027-01-01', METHOD]],
    ...[
      [MODERN, METHOD, 'Mcp-Name: Search'],
      [MODERN, 'Mcp-Method: tools/list', NAME],
      [MODERN, METHOD, 'Mcp-Name:'],
    ],
    ...[
      [MODERN, METHOD, NAME, NAME],
      [MODERN, METHOD, METHOD, NAME],
      [MODERN, MODERN, METHOD, NAME],
    ],
    [MODERN, METHOD, NAME, 'mcp-name: other'],
  ])
    assert.equal(await send(call, headers), 400, headers.join())
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  assert.equal(await send(list, [MODERN, 'Mcp-Method: tools/list']), 200)
  assert.equal(await send(list, [MODERN]), 400)
  assert.equal(await send(list, [MODERN, 'Mcp-Method: tools/list', NAME]), 400)
  const task = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId: 't1' } }
  assert.equal(await send(task, [MODERN, 'Mcp-Method: tasks/get', 'Mcp-Name: t1']), 200)
  assert.equal(await send(task, [MODERN, 'Mcp-Method: tasks/get', 'Mcp-Name: t2']), 400)
})

test('from 2026-07-28 on the version in the header must match the one in the body', async (t) => {
  const { send } = await gateway(t)
  const said = (version: unknown) => ({
    ...call,
    params: { name: 'search', _meta: { 'io.modelcontextprotocol/protocolVersion': version } },
  })
  const named = [METHOD, NAME]
  assert.equal(await send(said('2026-07-28'), [MODERN, ...named]), 200)
  assert.equal(await send(said(undefined), [MODERN, ...named]), 200)
  for (const version of ['2025-11-25', '2027-01-01', '', 1, null])
    assert.equal(await send(said(version), [MODERN, ...named]), 400, String(version))
  for (const headers of [[], [OLD], ['MCP-Protocol-Version: 2027-01-01', ...named]])
    assert.equal(await send(said('2026-07-28'), headers), 400, headers.join())
  assert.equal(await send(said('2025-06-18'), [OLD]), 200)
})

test('for older versions the headers are optional, and must not contradict the body', async (t) => {
  const { send } = await gateway(t)
  for (const version of [[], [OLD], ['MCP-Protocol-Version: newest']]) {
    assert.equal(await send(call, version), 200)
    assert.equal(await send(call, [...version, METHOD, NAME]), 200)
    assert.equal(await send(call, [...version, 'Mcp-Method: tools/list']), 400)
    assert.equal(await send(call, [...version, 'Mcp-Name: harmless']), 400)
    assert.equal(await send([call, toolCall('other')], [...version, NAME]), 400)
  }
  assert.equal(await send({ jsonrpc: '2.0', id: 1, result: {} }, [METHOD]), 400)
  assert.equal(await send({ jsonrpc: '2.0', method: 'notifications/initialized' }, [MODERN]), 200)
})

test('a hidden header is refused: by an underscore, in Connection, or in a trailer', async (t) => {
  const { send } = await gateway(t)
  for (const headers of [
    ['Mcp_Name: search'],
    ['mcp-METHOD_: a', 'Mcp_Method: tools/call'],
    ['MCP_Protocol-Version: 2026-07-28'],
  ])
    assert.equal(await send(call, headers), 400, headers.join())
  for (const connection of [
    'Mcp-Name',
    'close, mcp-method',
    'x,\tMCP-Protocol-Version',
    'Mcp_Name',
    'mcp-session-id',
    'content-type',
    'close, Content_Encoding',
  ])
    assert.equal(await send(call, [`Connection: ${connection}`, METHOD, NAME]), 400, connection)
  assert.equal(await send(call, [METHOD], ['X-Digest: Mcp-Name']), 200)
  for (const trailer of [
    NAME,
    'Mcp_Method: tools/list',
    'mcp-protocol-version: 2026-07-28',
    'Content-Type: text/plain',
    'content_encoding: gzip',
  ])
    assert.equal(await send(call, [], [trailer]), 400, trailer)
  assert.equal(await send(call, ['Mcp-Param-Some_Thing: 1', 'Mcp-Session-Id: a']), 200)
})

test('a name in base64 is decoded before it is compared, and only canonical base64 is accepted', async (t) => {
  const { send } = await gateway(t)
  const headers = (name: string) => [MODERN, METHOD, `Mcp-Name: =?base64?${name}?=`]
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 12 }), async (name) => {
      assert.equal(await send(toolCall(name), headers(base64(name))), 200)
      assert.equal(await send(toolCall(`${name}.`), headers(base64(name))), 400)
    }),
    { numRuns: 25 },
  )
  const same = base64('sear').replace(/=+$/, '')
  for (const name of [same, `${same}====`, '*', `${same} =`, base64('search').toLowerCase(), '//79'])
    assert.equal(await send(toolCall('sear'), headers(name)), 400, name)
  const url = Buffer.from('??>').toString('base64url')
  assert.equal(await send(toolCall('??>'), headers(url)), 400)
  assert.equal(await send(toolCall('=?base64?YQ==?='), [MODERN, METHOD, 'Mcp-Name: =?base64?YQ==?=']), 400)
  assert.equal(await send(toolCall('é'), [MODERN, METHOD, 'Mcp-Name: é']), 400)
})
