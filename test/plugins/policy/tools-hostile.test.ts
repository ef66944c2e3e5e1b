import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { runs } from '#kit/runs.js'
import { type Answer, asked, call, JSON_HEADERS, named, policed } from './policed.js'

const ALLOWED = JSON.stringify(call('add'))
const DENIED = JSON.stringify(call('delete'))

/** The response names the denial: after an error about a missing tool, a client would look for another server. */
function assertDenied({ status, code, error, body }: Answer, what: string): void {
  assert.equal(status, 403, what)
  assert.equal(error, 'policy_denied', what)
  assert.equal(code, -32_000, what)
  assert.doesNotMatch(body, /not found|unknown|no such/i, what)
}

const wellFormed = (text: string): boolean => text.isWellFormed()

test('a body that is not one JSON text in UTF-8 is refused, also when it would call an allowed tool', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add'] }])
  const bodies: Readonly<Record<string, string | Uint8Array>> = {
    nothing: '',
    words: 'delete everything',
    'half of it': ALLOWED.slice(0, -1),
    'more than one': `${ALLOWED}\n${DENIED}`,
    'a comment': `${ALLOWED} // and more`,
    'a byte order mark': `\ufeff${ALLOWED}`,
    'UTF-16, little-endian': Buffer.from(DENIED, 'utf16le'),
    'UTF-16 with its mark': Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(DENIED, 'utf16le')]),
    'no UTF-8': Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","method":"'),
      Buffer.from([0xff]),
      Buffer.from('"}'),
    ]),
    'a form': 'method=tools/call&name=delete',
    'a text': JSON.stringify('tools/call'),
    'no message': '{}',
    'an empty batch': '[]',
    'a batch in a batch': `[[${DENIED}]]`,
  }
  for (const [what, body] of Object.entries(bodies)) {
    const { status, body: said } = await asked(url, body)
    assert.equal(status, 400, what)
    assert.equal(JSON.parse(said).jsonrpc, '2.0', what)
  }
  assert.equal(reached.length, 0)
  assert.equal((await asked(url, ALLOWED)).status, 202)
  assert.equal(reached[0]?.body, ALLOWED)
})

test('a body of another content type or coding is refused', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add'] }])
  const { accept } = JSON_HEADERS
  const types = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/json, text/plain',
    'application/jsonrequest',
    '',
  ]
  for (const type of types) {
    assert.equal((await asked(url, ALLOWED, { accept, 'content-type': type })).status, 400, type)
  }
  assert.equal((await asked(url, ALLOWED, { accept })).status, 400)
  const twice = { accept, 'content-type': ['application/json', 'text/plain'] }
  assert.equal((await asked(url, ALLOWED, twice)).status, 400)
  const coded = { ...JSON_HEADERS, 'content-encoding': 'gzip' }
  assert.equal((await asked(url, gzipSync(DENIED), coded)).status, 400)
  assert.equal(reached.length, 0)
})

test('T13: a body with members that occur twice, or differ by case or escapes alone, is refused', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add'] }])
  const bodies = [
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"delete"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","name":"delete"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete","name":"add"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","n\\u0061me":"delete"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","Name":"delete"}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","params":{"name":"delete"}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add"},"params":{"name":"delete"}}',
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"add"}}',
  ]
  for (const body of bodies) {
    const { status, error } = await asked(url, body)
    assert.equal(status, 400, body)
    assert.equal(error, 'message_ambiguous', body)
  }
  assert.equal(reached.length, 0)
})

test('a batch is judged item by item, and none of it reaches the target when one item is denied', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add'] }])
  const batches = [
    [call('add'), call('delete', 2)],
    [call('delete'), call('add', 2)],
    [{ jsonrpc: '2.0', method: 'notifications/initialized' }, call('delete')],
    [{ jsonrpc: '2.0', id: 7, result: {} }, call('delete')],
    [call('add'), named('resources/read', { uri: 'file:///secret' })],
  ]
  for (const batch of batches) {
    const text = JSON.stringify(batch)
    assertDenied(await asked(url, text), text)
  }
  assert.equal(reached.length, 0)
  const both = JSON.stringify([call('add'), call('add', 2)])
  assert.equal((await asked(url, both)).status, 202)
  assert.equal(reached[0]?.body, both)
})

test('names that differ by case, Unicode form, space, NUL or newline are other names', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add', 'café', 'prompt:ask'] }])
  const others = [
    'Add',
    'ADD',
    'add\0',
    '\0add',
    'add\n',
    'add\r\n',
    ' add',
    'add ',
    'ａｄｄ',
    'add\u200b',
    'cafe\u0301',
    'ask',
    '',
  ]
  for (const name of others) assertDenied(await asked(url, JSON.stringify(call(name))), JSON.stringify(name))
  assertDenied(
    await asked(url, JSON.stringify(named('prompts/get', { name: 'add' }))),
    'a prompt named as a tool',
  )
  assert.equal(reached.length, 0)

  const escaped = '{"jsonrpc":"2.0","id":1,"method":"tools/c\\u0061ll","params":{"name":"\\u0061dd"}}'
  assert.equal((await asked(url, escaped)).status, 202)
  assert.equal(reached[0]?.body, escaped)
})

test('every name that is not allowed is denied, and every allowed name reaches the target byte for byte', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add', 'read_*'] }, { deny: ['read_secret'] }])
  const name = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      'add',
      'read_',
      'read_secret',
      'read_secret ',
      'READ_a',
      'a\u0064d',
      '__proto__',
      'constructor',
    ),
    fc.string({ unit: 'grapheme' }).map((rest) => `read_${rest}`),
  )
  await fc.assert(
    fc.asyncProperty(name.filter(wellFormed), async (each) => {
      const body = JSON.stringify(call(each))
      const before = reached.length
      const answer = await asked(url, body)
      const isAllowed = each === 'add' || (each.startsWith('read_') && each !== 'read_secret')
      if (!isAllowed) assertDenied(answer, JSON.stringify(each))
      else assert.equal(reached.at(-1)?.body, body)
      assert.equal(reached.length - before, isAllowed ? 1 : 0)
    }),
    { numRuns: runs(150) },
  )
})

const newer = (more: Readonly<Record<string, string | readonly string[]>>) => ({
  ...JSON_HEADERS,
  'mcp-protocol-version': '2026-07-28',
  ...more,
})
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

test('2026-07-28: a request whose headers and body differ is refused, in every direction', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add', 'café'] }])
  const METHOD = { 'mcp-method': 'tools/call' }
  const cases: readonly (readonly [string, ReturnType<typeof newer>])[] = [
    [DENIED, newer({ ...METHOD, 'mcp-name': 'add' })],
    [ALLOWED, newer({ ...METHOD, 'mcp-name': 'delete' })],
    [DENIED, newer({ 'mcp-method': 'tools/list', 'mcp-name': 'delete' })],
    [DENIED, newer({ 'mcp-method': 'ping' })],
    [ALLOWED, newer({})],
    [ALLOWED, newer(METHOD)],
    [ALLOWED, newer({ 'mcp-name': 'add' })],
    [ALLOWED, newer({ ...METHOD, 'mcp-name': ['add', 'delete'] })],
    [ALLOWED, newer({ ...METHOD, 'mcp-name': 'add', mcp_name: 'delete' })],
    [ALLOWED, newer({ ...METHOD, 'mcp-name': base64('delete') })],
    [ALLOWED, newer({ ...METHOD, 'mcp-name': '=?base64?YWRk' })],
    [ALLOWED, newer({ ...METHOD, 'mcp-name': '=?base64?YWRk====?=' })],
    [ALLOWED, newer({ ...METHOD, 'mcp-name': 'ADD' })],
  ]
  for (const [body, headers] of cases) {
    const { status, code } = await asked(url, body, headers)
    assert.equal(status, 400, JSON.stringify(headers))
    assert.equal(code, -32_020, JSON.stringify(headers))
  }
  assertDenied(await asked(url, DENIED, newer({ ...METHOD, 'mcp-name': 'delete' })), 'both denied')
  assertDenied(await asked(url, DENIED, newer({ ...METHOD, 'mcp-name': base64('delete') })), 'in base64')
  assert.equal(reached.length, 0)

  const café = JSON.stringify(call('café'))
  for (const [body, name] of [
    [ALLOWED, 'add'],
    [ALLOWED, base64('add')],
    [café, base64('café')],
  ] as const) {
    assert.equal((await asked(url, body, newer({ ...METHOD, 'mcp-name': name }))).status, 202, name)
  }
  assert.equal(reached.length, 3)
})

test('the headers of an older version, or of one that does not exist, do not count', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add'] }])
  for (const version of ['2025-11-25', '2025-06-18', '2024-11-05', 'tomorrow', undefined]) {
    const headers = {
      ...JSON_HEADERS,
      ...(version !== undefined && { 'mcp-protocol-version': version }),
      'mcp-method': 'tools/list',
      'mcp-name': 'add',
    }
    const { status } = await asked(url, DENIED, headers)
    assert.ok(status === 400 || status === 403, `${version}: ${status}`)
  }
  assert.equal(reached.length, 0)
})

test('T16: a body beyond the limit is refused, with its length and without', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add'] }])
  const long = JSON.stringify({ ...call('add'), padding: 'x'.repeat(17 * 1024 * 1024) })
  assert.equal((await asked(url, long)).status, 413)
  let left = 40
  const pieces = new ReadableStream({
    pull(stream) {
      if (left-- > 0) stream.enqueue(new TextEncoder().encode(' '.repeat(1024 * 1024)))
      // A client that does not notice the refusal would go on for ever.
      else stream.close()
    },
  })
  const init = { method: 'POST', headers: JSON_HEADERS, body: pieces, duplex: 'half' }
  assert.equal((await fetch(url, init as RequestInit)).status, 413)
  assert.equal(reached.length, 0)
})

test('notifications, responses and the begin of a session pass, and unknown methods follow the default of the rules', async (t) => {
  const allowing = await policed(t, [{ allow: ['add'] }])
  const denying = await policed(t, [{ deny: ['delete'] }])
  const passing = [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    { jsonrpc: '2.0', id: 3, result: { action: 'accept' } },
    { jsonrpc: '2.0', id: 3, error: { code: -1, message: 'no' } },
    named('initialize', { protocolVersion: '2025-11-25' }),
    named('ping'),
    named('tools/list', { cursor: 'b' }),
  ]
  for (const { url } of [allowing, denying]) {
    for (const each of passing) assert.equal((await asked(url, JSON.stringify(each))).status, 202)
  }
  const unknown = JSON.stringify(named('tools/everything', { name: 'delete' }))
  assertDenied(await asked(allowing.url, unknown), unknown)
  assert.equal((await asked(denying.url, unknown)).status, 202)
  assert.equal(allowing.reached.length, passing.length)
  assert.equal(denying.reached.length, passing.length + 1)
})

test('a notification that calls a tool is judged like a request', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add'] }])
  const { id: _, ...notification } = { id: 1, ...call('delete') }

  assertDenied(await asked(url, JSON.stringify(notification)), 'a notification')
  assert.equal(reached.length, 0)
})

test('requests that no policy can judge are refused: other methods, unexpected bodies, upgrades', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add'] }])
  for (const method of ['PUT', 'PATCH', 'PROPFIND']) {
    assert.equal((await asked(url, ALLOWED, JSON_HEADERS, method)).status, 403, method)
  }
  for (const method of ['GET', 'DELETE']) {
    assert.equal((await asked(url, DENIED, JSON_HEADERS, method)).status, 400, method)
  }
  const upgrade = {
    connection: 'upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  }
  assert.equal((await asked(url, '', { ...upgrade, 'sec-websocket-version': '13' }, 'GET')).status, 403)
  assert.equal(reached.length, 0)

  assert.equal((await asked(url, '', { accept: 'text/event-stream' }, 'GET')).status, 202)
  assert.equal((await asked(url, '', { 'mcp-session-id': 'a' }, 'DELETE')).status, 202)
  assert.equal(reached.length, 2)
})

const URIS = [
  'file:///private/a',
  'FILE:///private/a',
  'file:///%70rivate/a',
  'file:///%2570rivate/a',
  'file:///public/../private/a',
  'file:///public/%2e%2e/private/a',
  'file:///public/%252e%252e/private/a',
  'file:///./private/a',
  'file:////private/a',
  'file:///private//a',
  'file:///public\\..\\private/a',
  ' file:///private/a',
  'file:///private/a?x',
  'file:///private/a#x',
]

test('T17: a denied resource is denied in every spelling, to readers, subscribers and completions', async (t) => {
  const { url, reached } = await policed(t, [{ deny: ['resource:file:///private/*'] }])
  for (const uri of URIS) {
    const bodies = [
      named('resources/read', { uri }),
      named('resources/subscribe', { uri }),
      named('completion/complete', {
        ref: { type: 'ref/resource', uri },
        argument: { name: 'a', value: '' },
      }),
      named('subscriptions/listen', { notifications: { resourceSubscriptions: ['file:///public/a', uri] } }),
    ]
    for (const body of bodies) assertDenied(await asked(url, JSON.stringify(body)), JSON.stringify(body))
  }
  assert.equal(reached.length, 0)
  const read = named('resources/read', { uri: 'file:///public/private/a' })
  assert.equal((await asked(url, JSON.stringify(read))).status, 202)
})

test('T17: an allowed resource is allowed in no spelling that names another resource', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['resource:file:///public/*'] }])
  for (const uri of [
    ...URIS,
    'file:///public/../../private',
    'file:///public/a/../../private',
    'file:///PUBLIC/a',
  ]) {
    assertDenied(await asked(url, JSON.stringify(named('resources/read', { uri }))), uri)
  }
  assert.equal(reached.length, 0)
})

// Between two of its tokens: the lines of an event are joined by a newline, which no string may hold.
const cut = '{"jsonrpc":"2.0","id":1,'.length

const LIST = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: { tools: [{ name: 'add' }, { name: 'delete' }] },
})

test('a list on a resumed stream is filtered too, between any other events', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add'] }], (_request, response) => {
    response.setHeader('content-type', 'text/event-stream')
    response.end(
      `: hi\n\nid: 7\ndata: ${LIST.slice(0, cut)}\ndata: ${LIST.slice(cut)}\n\ndata: {"jsonrpc":"2.0","method":"x"}\n\n`,
    )
  })
  const headers = { accept: 'text/event-stream', 'last-event-id': '6' }
  const { status, body } = await asked(url, '', headers, 'GET')

  assert.equal(status, 200)
  assert.equal(reached[0]?.headers['last-event-id'], '6')
  assert.match(body, /"add"/)
  assert.doesNotMatch(body, /delete/)
  assert.match(body, /^id: 7$/m)
  assert.match(body, /"method":"x"/)
})

test('the gateway requests no content coding for a filtered list, and passes on no response that has one', async (t) => {
  const { url, reached } = await policed(t, [{ allow: ['add'] }], (_request, response) => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    response.writeHead(200, headers).end(gzipSync(LIST))
  })
  const answer = await asked(url, JSON.stringify(named('tools/list')), {
    ...JSON_HEADERS,
    'accept-encoding': 'gzip, br',
  })
  assert.equal(reached[0]?.headers['accept-encoding'], 'identity')
  assert.equal(answer.status, 502)
  assert.equal(answer.headers['content-encoding'], undefined)
  assert.doesNotMatch(answer.body, /delete/)
})
