import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { List } from 'sallyport'
import { booted } from '#kit/booted.js'
import { corp } from '#kit/corp.js'
import { mcpPlugin } from '#kit/plugin.js'
import { noRedis, testRedis } from '#kit/redis.js'

const mcp = mcpPlugin('mcp', ({ http }) => void http.all('/', { config: { mcp: true } }, () => 'here'))

const listWith = (options: object): List => [mcp, corp(), { use: 'limit/requests', with: options }]

const toolCall = (name: string) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } })

async function limited(t: TestContext, limits: readonly object[], more: object = {}) {
  const app = await booted(t, listWith({ limits, ...more }))
  const send = (payload: object, token = 'alice', remoteAddress = '192.0.2.1') =>
    app.inject({
      method: 'POST',
      url: '/',
      payload,
      remoteAddress,
      headers: { authorization: `Bearer ${token}` },
    })
  /** The statuses of calls one after the other; several names are a batch. */
  const statuses = async (token: string, ...calls: readonly (string | readonly string[])[]) => {
    const found: number[] = []
    for (const each of calls) {
      const payload = typeof each === 'string' ? toolCall(each) : each.map(toolCall)
      found.push((await send(payload, token)).statusCode)
    }
    return found
  }
  return { app, send, statuses }
}

test('a limit by tool counts the calls of all callers together, for each tool', async (t) => {
  const { statuses, send } = await limited(t, [{ by: 'tool', rate: '2/1m' }])
  assert.deepEqual(await statuses('alice', 'a', 'b', 'b', 'b'), [200, 200, 200, 429])
  assert.deepEqual(await statuses('bob', 'a', 'a', 'c'), [200, 429, 200])
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  for (let count = 0; count < 5; count++) assert.equal((await send(list)).statusCode, 200)
})

test('a limit by caller and tool counts the calls of each caller, for the named tools', async (t) => {
  const limit = { by: 'caller+tool', tools: ['search_*', '*.read', 'exact'], rate: '1/1m' }
  const { statuses } = await limited(t, [limit])
  for (const caller of ['alice', 'bob']) {
    assert.deepEqual(await statuses(caller, 'search_a', 'search_a', 'search_b'), [200, 429, 200])
    assert.deepEqual(
      await statuses(caller, 'files.read', 'files.read', 'exact', 'exact'),
      [200, 429, 200, 429],
    )
    assert.deepEqual(
      await statuses(caller, 'exactly', 'exactly', 'Search_a', 'Search_a'),
      [200, 200, 200, 200],
    )
  }
})

test('each call of a batch counts, for its tool and for its caller', async (t) => {
  const { statuses, send } = await limited(t, [
    { by: 'caller', rate: '5/1m' },
    { by: 'tool', tools: ['a'], rate: '2/1m' },
  ])
  assert.deepEqual(
    await statuses('alice', ['a', 'b', 'b'], ['b', 'b', 'b'], ['b', 'b'], 'b'),
    [200, 429, 200, 429],
  )
  const never = await send(['b', 'b', 'b', 'b', 'b', 'b'].map(toolCall), 'bob')
  assert.deepEqual([never.statusCode, never.headers['retry-after']], [429, undefined])
  const once = await send(['a', 'a', 'a'].map(toolCall), 'bob')
  assert.deepEqual([once.statusCode, once.headers['retry-after']], [429, undefined])
  assert.deepEqual(await statuses('bob', 'b', 'b', 'b', 'b', 'b', 'b'), [200, 200, 200, 200, 200, 429])
})

test('a call that one limit refuses counts for no other limit, in any order of the limits', async (t) => {
  const { statuses } = await limited(t, [
    { by: 'caller', rate: '3/1m', burst: 1 },
    { by: 'tool', tools: ['rare'], rate: '1/1m' },
    { by: 'caller+tool', rate: '2/1m' },
  ])
  assert.deepEqual(
    await statuses('alice', 'rare', 'rare', 'rare', ['a', 'rare'], 'a'),
    [200, 429, 429, 429, 200],
  )
  assert.deepEqual(await statuses('alice', 'a', 'b', 'c'), [200, 200, 429])
  assert.deepEqual(await statuses('bob', 'b', 'c', 'd', 'rare', 'e', 'f'), [200, 200, 200, 429, 200, 429])
})

test('a batch passes after `Retry-After`, and smaller batches pass before', async (t) => {
  const { send } = await limited(t, [
    { by: 'caller', rate: '4/1s' },
    { by: 'tool', rate: '3/2s' },
  ])
  const batch = (size: number) => send(Array.from({ length: size }, () => toolCall('a')))
  assert.equal((await batch(2)).statusCode, 200)
  const refused = await batch(2)
  assert.equal(refused.statusCode, 429)
  assert.equal((await batch(1)).statusCode, 200)

  await setTimeout(Number(refused.headers['retry-after']) * 1_000)

  assert.equal((await batch(2)).statusCode, 200)
})

test('names that a caller makes up count together from the thousandth on, and reset no count', async (t) => {
  for (const by of ['tool', 'caller+tool']) {
    const { statuses, send } = await limited(t, [
      { by, tools: ['*', 'exact'], rate: '1/1m' },
      { by: 'tool', tools: ['other'], rate: '9/1m' },
    ])
    assert.deepEqual(await statuses('alice', 'real', 'real'), [200, 429])
    for (let batch = 0; batch < 10; batch++) {
      const names = Array.from({ length: 100 }, (_, index) => `made up ${batch * 100 + index}`)
      assert.equal((await send(names.map(toolCall))).statusCode, 200)
    }
    assert.deepEqual(
      await statuses('alice', 'real', 'new 1', 'new 2', 'exact', 'exact'),
      [429, 429, 429, 200, 429],
      by,
    )
    assert.deepEqual(await statuses('bob', 'new 1', 'new 2', 'new 1'), [200, 200, 429])
  }
})

test('a call that a policy denies counts for no tool, and batches count where policies read bodies', async (t) => {
  const policy = { use: 'policy/tools', with: { rules: [{ deny: ['export'] }] } }
  const limits = [
    { by: 'tool', tools: ['export'], rate: '1/1h' },
    { by: 'tool', tools: ['a'], rate: '2/1h' },
  ]
  const app = await booted(t, [...listWith({ limits }), policy])
  const send = async (list: Awaited<ReturnType<typeof booted>>, payload: object) =>
    (await list.inject({ method: 'POST', url: '/', payload, headers: { authorization: 'Bearer alice' } }))
      .statusCode
  for (let count = 0; count < 3; count++) assert.equal(await send(app, toolCall('export')), 403)
  assert.equal(await send(app, [toolCall('a'), toolCall('a'), toolCall('export')]), 403)
  assert.equal(await send(app, [toolCall('a'), toolCall('a')]), 200)
  assert.equal(await send(app, toolCall('a')), 429)

  const byCaller = { limits: [{ by: 'caller', rate: '3/1h' }] }
  const judged = await booted(t, [...listWith(byCaller), policy])
  assert.equal(await send(judged, [toolCall('a'), toolCall('a'), toolCall('a')]), 200)
  assert.equal(await send(judged, toolCall('a')), 429)
})

test('a request body that cannot be counted is refused, and other requests go on', async (t) => {
  const { app, send } = await limited(t, [{ by: 'tool', rate: '100/1m' }])
  const headers = { authorization: 'Bearer alice' }
  const text = await app.inject({
    method: 'POST',
    url: '/',
    headers: { ...headers, 'content-type': 'text/plain' },
    payload: 'x',
  })
  assert.deepEqual([text.statusCode, JSON.parse(text.body).error], [400, 'message_content_type'])
  assert.equal((await send([])).statusCode, 400)
  assert.equal((await app.inject({ url: '/', headers })).statusCode, 200)
})

test('Redis counts the calls of all replicas', { skip: noRedis ?? false }, async (t) => {
  const { url } = await testRedis(t)
  const limits = [
    { by: 'caller', rate: '3/1m', burst: 1 },
    { by: 'tool', tools: ['rare'], rate: '1/1m' },
    { by: 'tool', tools: ['a'], rate: '2/1m' },
  ]
  const one = await limited(t, limits, { redis: url })
  const other = await limited(t, limits, { redis: url })
  assert.deepEqual(await one.statuses('alice', 'rare', 'rare'), [200, 429])
  assert.deepEqual(await other.statuses('alice', 'rare', ['a', 'rare'], 'a', 'a'), [429, 429, 200, 200])
  assert.deepEqual(await one.statuses('alice', 'b', 'b'), [200, 429])
})

test('`tools` without a limit by tool is refused, and so is an empty list', async (t) => {
  const refused = (limit: object, message: RegExp) =>
    assert.rejects(booted(t, listWith({ limits: [limit] })), { code: 'CONFIG_INVALID', message })
  await refused(
    { by: 'caller', rate: '1/1m', tools: ['*'] },
    /a limit by caller counts every request: expected `by: tool`/,
  )
  await refused({ by: 'tool', rate: '1/1m', tools: [] }, /expected a name or pattern/)
  await refused({ by: 'tool', rate: '1/1m', tools: [''] }, /expected the name of a tool/)
  const twice = { by: 'tool', rate: '1/1m', tools: ['a'] }
  await assert.rejects(booted(t, listWith({ limits: [twice, twice] })), {
    message: /the same `by`, span and tools/,
  })
  await limited(t, [twice, { ...twice, tools: ['b'] }, { by: 'tool', rate: '5/1m' }])
})
