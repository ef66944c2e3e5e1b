import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ProxySettings, proxy } from 'sallyport/presets/proxy'
import { serving } from '#kit/booted.js'
import { listening } from '#kit/listening.js'
import { sdkServer } from '../../conformance/sdk-server/http.js'
import { callStateless, STATELESS } from './stateless-call.js'

const RULES = [
  { allow: ['test_simple_text', 'test_image_*', 'prompt:test_simple_prompt', 'prompt:*_image'] },
  { allow: ['resource:test://static-text', 'resource:test://template/*'] },
  { deny: ['test_image_content'] },
]

/** The official server, with tools, prompts and resources, behind the proxy; and every body that reached it. */
async function policed(t: TestContext) {
  const { url, close } = await sdkServer()
  t.after(close)
  const reached: string[] = []
  const origin = await listening(t, (incoming, response) => {
    void text(incoming).then((body) => {
      reached.push(body)
      const { method, headers } = incoming
      const asking = request(url, { method, headers }, (answer: IncomingMessage) => {
        answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers))
      })
      asking.on('error', () => response.destroy())
      asking.end(body)
    })
  })
  const target = `${origin}/mcp`
  const plugins = [{ use: 'policy/tools', with: { rules: RULES } }]
  const { addresses } = await serving(t, proxy(ProxySettings.parse({ targetUri: target, plugins })))
  return { url: `${addresses.main}/mcp`, reached }
}

/** The operations of a client of one era. */
interface Asking {
  list(method: string): Promise<readonly string[]>
  /** The text of the result. */
  ask(method: string, params: object): Promise<string>
}

async function ofSessions(t: TestContext, url: string): Promise<Asking> {
  const client = new Client({ name: 'test', version: '1' })
  // The SDK's class does not fit its own interface under exactOptionalPropertyTypes.
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never)
  t.after(() => client.close())
  const asks: Readonly<Record<string, (params: never) => Promise<object>>> = {
    'tools/list': () => client.listTools(),
    'prompts/list': () => client.listPrompts(),
    'resources/list': () => client.listResources(),
    'resources/templates/list': () => client.listResourceTemplates(),
    'tools/call': (params) => client.callTool(params),
    'prompts/get': (params) => client.getPrompt(params),
    'resources/read': (params) => client.readResource(params),
    'resources/subscribe': (params) => client.subscribeResource(params),
    'completion/complete': (params) => client.complete(params),
  }
  const ask = async (method: string, params: object) => asks[method]?.(params as never) ?? {}
  return {
    list: async (method) => namesIn(await ask(method, {})),
    ask: async (method, params) => JSON.stringify(await ask(method, params)),
  }
}

function stateless(url: string): Asking {
  const ask = async (method: string, params: { readonly name?: string; readonly uri?: string }) => {
    const response = await callStateless(url, method, params)
    const said = await response.text()
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    const json = isStream ? (/^data: (\{.*)$/m.exec(said)?.[1] ?? '') : said
    const { result, error }: { result?: object; error?: { message: string; data?: unknown } } =
      JSON.parse(json)
    if (result === undefined) throw new Error(`${response.status} ${JSON.stringify(error)}`)
    return result
  }
  return {
    list: async (method) => namesIn(await ask(method, {})),
    ask: async (method, params) => JSON.stringify(await ask(method, params)),
  }
}

function namesIn(result: object): readonly string[] {
  const lists: readonly unknown[] = Object.values(result).find((value) => Array.isArray(value)) ?? []
  return lists.map((item) => {
    const { name, uri, uriTemplate }: Readonly<Record<string, unknown>> = Object(item)
    return String(uriTemplate ?? uri ?? name)
  })
}

const eras = { '2025-11-25': ofSessions, [STATELESS]: async (_t: TestContext, url: string) => stateless(url) }

for (const [era, connected] of Object.entries(eras)) {
  test(`${era}: a client sees the tools of the official server that it may use, uses them, and is denied the rest`, async (t) => {
    const { url, reached } = await policed(t)
    const { list, ask } = await connected(t, url)

    assert.deepEqual(await list('tools/list'), ['test_simple_text'])
    assert.deepEqual(await list('prompts/list'), ['test_simple_prompt', 'test_prompt_with_image'])
    assert.deepEqual(await list('resources/list'), ['test://static-text'])
    assert.deepEqual(await list('resources/templates/list'), ['test://template/{id}/data'])

    assert.match(await ask('tools/call', { name: 'test_simple_text', arguments: {} }), /simple text response/)
    assert.match(await ask('prompts/get', { name: 'test_simple_prompt' }), /simple prompt/)
    assert.match(await ask('resources/read', { uri: 'test://static-text' }), /static text resource/)
    assert.match(await ask('resources/read', { uri: 'test://template/7/data' }), /Data for ID: 7/)

    const before = reached.length
    const denied: readonly (readonly [string, object])[] = [
      ['tools/call', { name: 'test_image_content', arguments: {} }],
      ['tools/call', { name: 'test_error_handling', arguments: {} }],
      ['tools/call', { name: 'no_such_tool', arguments: {} }],
      ['prompts/get', { name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } }],
      ['resources/read', { uri: 'test://static-binary' }],
      ['resources/read', { uri: 'test://template/../static-binary' }],
      [
        'completion/complete',
        {
          ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
          argument: { name: 'arg1', value: 'p' },
        },
      ],
    ]
    for (const [method, params] of denied) {
      await assert.rejects(ask(method, params), (error: Error) => {
        assert.match(error.message, /policy_denied/, JSON.stringify(params))
        assert.doesNotMatch(error.message, /not found|unknown/i)
        return true
      })
    }
    assert.deepEqual(reached.slice(before), [])
  })
}

test('2025-11-25: a subscription to a denied resource is denied, and one to an allowed resource is not', async (t) => {
  const { url } = await policed(t)
  const { ask } = await ofSessions(t, url)
  await ask('resources/subscribe', { uri: 'test://static-text' })
  await assert.rejects(ask('resources/subscribe', { uri: 'test://watched-resource' }), /policy_denied/)
})
