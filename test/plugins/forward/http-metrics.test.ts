import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { type Entry, type Labels, Telemetry } from 'sallyport'
import { closedPort, listening } from '#kit/listening.js'
import { providing } from '#kit/plugin.js'
import { runs } from '#kit/runs.js'
import { call, proxied, send } from './proxied.js'

const TARGET_ANSWERS = 'sallyport_target_answers_total'

/** Keeps the labels of the counter of the target. */
const countingInto = (labels: Labels[]): Entry =>
  providing('counting', Telemetry, {
    measure: ({ name }, _value, values) => void (name === TARGET_ANSWERS && labels.push(values)),
  })

/** A proxy, and its metrics of the target. */
async function proxyWithMetrics(t: TestContext, target: string, more: readonly Entry[] = []) {
  const labels: Labels[] = []
  const { main, lines } = await proxied(t, target, {}, [countingInto(labels), ...more])
  return { main, lines, labels }
}

const named = (headers: Readonly<Record<string, string>>) => ({
  ...call(1),
  headers: { ...call(1).headers, 'mcp-protocol-version': '2026-07-28', ...headers },
})

test('the metric counts each class of outcome by its name, with the called method', async (t) => {
  const origin = await listening(t, ({ url }, response) => {
    if (url === '/gone') response.destroy()
    else response.writeHead(Number(url?.slice(1))).end()
  })
  const { main, labels } = await proxyWithMetrics(t, origin)
  const refusing = await proxyWithMetrics(t, await closedPort())

  for (const path of ['/200', '/304', '/404', '/503', '/gone']) {
    await send(main, { ...named({ 'mcp-method': 'tools/call' }), path })
  }
  await send(refusing.main)

  assert.deepEqual(
    labels.map(({ outcome }) => outcome),
    ['2xx', '3xx', '4xx', '5xx', 'target_reset'],
  )
  assert.ok(labels.every(({ mcp_method }) => mcp_method === 'tools/call'))
  assert.deepEqual(refusing.labels, [{ outcome: 'target_refused', mcp_method: 'none' }])
})

test('the metric counts a refused credential and a redirect to another origin as failures', async (t) => {
  const origin = await listening(t, ({ url }, response) =>
    response.writeHead(Number(url?.slice(1)), { location: 'https://else.example/' }).end(),
  )
  const credential = { use: 'credential/static-bearer', with: { token: 'revoked' } }
  const { main, labels } = await proxyWithMetrics(t, origin, [credential])
  for (const path of ['/401', '/307']) assert.equal((await send(main, { path })).status, 502)
  assert.deepEqual(
    labels.map(({ outcome }) => outcome),
    ['credential_refused', 'target_redirect'],
  )
})

test('each method of MCP is a label, also those of tasks', async (t) => {
  const origin = await listening(t, (_request, response) => response.end())
  const { main, labels } = await proxyWithMetrics(t, origin)
  const methods = ['initialize', 'resources/templates/list', 'subscriptions/listen', 'tasks/result']

  for (const method of methods) await send(main, named({ 'mcp-method': method }))
  assert.deepEqual(
    labels.map(({ mcp_method }) => mcp_method),
    methods,
  )
})

test('an unknown method is not a label, and a name never is (T10)', async (t) => {
  const origin = await listening(t, (_request, response) => response.end())
  const { main, lines, labels } = await proxyWithMetrics(t, origin)
  const sent = fc.stringMatching(/^[\x21-\x7e]([\x20-\x7e]{0,40}[\x21-\x7e])?$/)

  await fc.assert(
    fc.asyncProperty(sent, sent, async (method, name) => {
      labels.length = 0
      await send(main, named({ 'mcp-method': method, 'mcp-name': name }))
      assert.deepEqual(labels, [{ outcome: '2xx', mcp_method: 'other' }])
    }),
    {
      numRuns: runs(100),
      examples: [
        ['__proto__', 'constructor'],
        ['tools/call, tools/list', '"}\\n'],
      ],
    },
  )

  // Text of a caller reaches the log short and printable, or not at all.
  const words = lines.flatMap(({ mcpMethod, mcpName }) => [mcpMethod, mcpName]).filter(Boolean)
  assert.ok(words.length > 0)
  for (const word of words) assert.match(String(word), /^[\x20-\x7e]{1,128}$/)
})

test('the log has the called tool', async (t) => {
  const origin = await listening(t, (_request, response) => response.end())
  const { main, lines } = await proxyWithMetrics(t, origin)

  await send(main, named({ 'mcp-method': 'tools/call', 'mcp-name': 'get_weather' }))
  await send(main, named({ 'mcp-method': 'tools/call', 'mcp-protocol-version': '2025-11-25' }))

  const debugLines = lines.filter(({ msg }) => msg === 'the target responded')
  assert.deepEqual(
    debugLines.map(({ outcome, mcpMethod, mcpName }) => [outcome, mcpMethod, mcpName]),
    [
      ['2xx', 'tools/call', 'get_weather'],
      ['2xx', undefined, undefined],
    ],
  )
})
