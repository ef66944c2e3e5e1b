import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { everything } from '#kit/everything.js'
import { bridgeCommand } from './stdio/bridged.js'

/** The results of a client, and all messages between client and server. */
async function seenBy(t: TestContext, transport: unknown): Promise<object> {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
  )
  const asked: string[] = []
  client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
    asked.push(JSON.stringify(params))
    return { model: 'none', role: 'assistant', content: { type: 'text', text: 'sampled' } }
  })
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    asked.push(params.message)
    return { action: 'decline' }
  })
  // The SDK's classes do not fit their own interface under exactOptionalPropertyTypes.
  await client.connect(transport as never)
  t.after(() => client.close())
  const progress: unknown[] = []
  const call = (name: string, args: object = {}) => client.callTool({ name, arguments: { ...args } })
  const cancel = new AbortController()
  const long = { name: 'trigger-long-running-operation', arguments: { duration: 30, steps: 30 } }
  const cancelled = client.callTool(long, undefined, {
    signal: cancel.signal,
    onprogress: () => cancel.abort('enough'),
  })
  await assert.rejects(cancelled, /enough/)
  const seen = {
    server: client.getServerVersion(),
    tools: await client.listTools(),
    prompts: await client.listPrompts(),
    echo: await call('echo', { message: 'Grüße\u2028\n' }),
    long: await client.callTool({ ...long, arguments: { duration: 1, steps: 3 } }, undefined, {
      onprogress: (each) => progress.push(each),
    }),
    sampled: await call('trigger-sampling-request', { prompt: 'say', maxTokens: 5 }),
    elicited: await call('trigger-elicitation-request'),
    wrong: await call('no-such-tool').catch((error: Error) => error.message),
    // The SDK's client drops messages that come in one piece with the answer.
    progress: progress[0],
    asked,
  }
  return seen
}

for (const transport of ['streamableHttp', 'sse'] as const) {
  test(`the official client gets the same results through the bridge as directly (${transport})`, {
    timeout: 60_000,
  }, async (t) => {
    const target = await everything(t, transport)
    const direct = await everything(t)
    const started = bridgeCommand(target)

    const through = await seenBy(t, new StdioClientTransport({ ...started, stderr: 'ignore' }))
    assert.deepEqual(through, await seenBy(t, new StreamableHTTPClientTransport(new URL(direct))))
    assert.ok(Reflect.get(through, 'progress') !== undefined)
    assert.equal(Reflect.get(through, 'asked').length, 2)
  })
}
