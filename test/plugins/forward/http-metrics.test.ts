import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { definePlugin, type Labels, Telemetry } from 'sallyport'
import { closedPort, listening } from '../../kit/listening.js'
import { asking, call, proxied } from './proxied.js'

const TARGET_ANSWERS = 'sallyport_target_answers_total'

/** A proxy whose measurements of the target are kept. */
async function measured(t: TestContext, target: string) {
  const labels: Labels[] = []
  const counting = definePlugin({
    name: 'counting',
    api: 1,
    provides: [Telemetry],
    setup: (gateway) =>
      gateway.provide(Telemetry, {
        measure: ({ name }, _value, values) => void (name === TARGET_ANSWERS && labels.push(values)),
      }),
  })
  const { main, lines } = await proxied(t, target, {}, [{ use: counting }])
  return { main, lines, labels }
}

const named = (headers: Readonly<Record<string, string>>) => ({
  ...call(1),
  headers: { ...call(1).headers, ...headers },
})

test('every class of outcome is counted under its own name, and what was called beside it', async (t) => {
  const origin = await listening(t, ({ url }, response) => {
    if (url === '/gone') response.destroy()
    else response.writeHead(Number(url?.slice(1))).end()
  })
  const { main, labels } = await measured(t, origin)
  const refusing = await measured(t, await closedPort())

  for (const path of ['/200', '/304', '/404', '/503', '/gone']) {
    await asking(main, { ...named({ 'mcp-method': 'tools/call' }), path })
  }
  await asking(refusing.main)

  assert.deepEqual(
    labels.map(({ outcome }) => outcome),
    ['2xx', '3xx', '4xx', '5xx', 'target_reset'],
  )
  assert.ok(labels.every(({ mcp_method }) => mcp_method === 'tools/call'))
  assert.deepEqual(refusing.labels, [{ outcome: 'target_refused', mcp_method: 'none' }])
})

test('a method that nobody knows is no label, and a name never is one (T10)', async (t) => {
  const origin = await listening(t, (_request, response) => response.end())
  const { main, lines, labels } = await measured(t, origin)
  const sent = fc.stringMatching(/^[\x21-\x7e]([\x20-\x7e]{0,40}[\x21-\x7e])?$/)

  await fc.assert(
    fc.asyncProperty(sent, sent, async (method, name) => {
      labels.length = 0
      await asking(main, named({ 'mcp-method': method, 'mcp-name': name }))
      assert.deepEqual(labels, [{ outcome: '2xx', mcp_method: 'other' }])
    }),
    {
      numRuns: 100,
      examples: [
        ['__proto__', 'constructor'],
        ['tools/call, tools/list', '"}\\n'],
      ],
    },
  )

  // What a caller writes reaches the log as a plain word, or not at all.
  const words = lines.flatMap(({ mcpMethod, mcpName }) => [mcpMethod, mcpName]).filter(Boolean)
  assert.ok(words.length > 0)
  for (const word of words) assert.match(String(word), /^[\w./:-]{1,128}$/)
})

test('the log tells which tool was called', async (t) => {
  const origin = await listening(t, (_request, response) => response.end())
  const { main, lines } = await measured(t, origin)

  await asking(main, named({ 'mcp-method': 'tools/call', 'mcp-name': 'get_weather' }))
  await asking(main, named({ 'mcp-method': 'tools/call', 'mcp-name': '=?base64?R3LDvMOfZQ==?=' }))

  const told = lines.filter(({ msg }) => msg === 'the target answered')
  assert.deepEqual(
    told.map(({ outcome, mcpMethod, mcpName }) => [outcome, mcpMethod, mcpName]),
    [
      ['2xx', 'tools/call', 'get_weather'],
      ['2xx', 'tools/call', undefined],
    ],
  )
})
