import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { eventually } from '#kit/captured-log.js'
import { everything } from '#kit/everything.js'
import { bridgeCommand } from './bridged.js'

const CANCELLED_STEPS = 120

type Message = Readonly<Record<string, unknown>>

/** Every message of a conversation, as it was on the line. */
interface Conversation {
  readonly said: readonly Message[]
  /** Answers, and the progress that leads to them: over HTTP they come in the answer to the request's POST. */
  readonly answers: readonly Message[]
  /**
   * The server's own messages: over HTTP they come on a separate stream, in no fixed order to the answers. That stream
   * opens only after `notifications/initialized`, and misses the server's message at that moment, that its tools have
   * changed. So the messages count from the first request on.
   */
  readonly unasked: readonly Message[]
}

/** Uses every feature of the reference server. */
async function conversation(
  t: TestContext,
  start: { readonly command: string; readonly args: string[] },
): Promise<Conversation> {
  const transport = new StdioClientTransport({ ...start, stderr: 'ignore' })
  const said: Message[] = []
  const answers: Message[] = []
  const unasked: Message[] = []
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
  )
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    model: 'none',
    role: 'assistant',
    content: { type: 'text', text: 'sampled' },
  }))
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }))
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///a', name: 'a' }] }))

  const send = transport.send.bind(transport)
  transport.send = (message) => {
    said.push(plain(message))
    return send(message)
  }
  // The SDK's classes do not fit their own interface under exactOptionalPropertyTypes.
  const connecting = client.connect(transport as never)
  const take = transport.onmessage?.bind(transport)
  transport.onmessage = (message) => {
    const isAnswer = !('method' in message) || message.method === 'notifications/progress'
    const list = isAnswer ? answers : unasked
    list.push(plain(message))
    take?.(message)
  }
  await connecting
  t.after(() => client.close())
  const heard = (method: string, text = ''): Promise<unknown> =>
    eventually(() =>
      unasked.find((message) => message['method'] === method && JSON.stringify(message).includes(text)),
    )
  const call = (name: string, args: object = {}) => client.callTool({ name, arguments: { ...args } })

  // The server requests the roots, and logs the result.
  await heard('roots/list')
  await heard('notifications/message', 'Roots updated')
  await client.ping()
  await client.listTools()
  await client.listPrompts()
  await client.listResources()
  await client.listResourceTemplates()
  await call('echo', { message: 'Grüße\u2028\n\u{1f600}' })
  await call('get-sum', { a: 1, b: 2.5 })
  await call('get-structured-content', { location: 'Chicago' })
  await call('get-tiny-image')
  await call('get-roots-list')
  await call('trigger-sampling-request', { prompt: 'say', maxTokens: 5 })
  await call('trigger-elicitation-request')
  await call('no-such-tool')
  await client.readResource({ uri: 'demo://resource/dynamic/text/1' }).catch(() => {})
  await client.readResource({ uri: 'no:such' }).catch(() => {})
  await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Ulm' } })
  await client.complete({
    ref: { type: 'ref/prompt', name: 'completable-prompt' },
    argument: { name: 'department', value: 'E' },
  })

  const uri = 'demo://resource/dynamic/text/2'
  await client.subscribeResource({ uri })
  await heard('notifications/message', 'Received Subscribe')
  await call('toggle-subscriber-updates')
  await heard('notifications/resources/updated')
  await call('toggle-subscriber-updates')
  await client.unsubscribeResource({ uri })
  await heard('notifications/message', 'Received Unsubscribe')
  // From here on, the server's log level leaves out its messages about subscriptions.
  await client.setLoggingLevel('emergency')
  await client.subscribeResource({ uri })

  const long = { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } }
  await client.callTool(long, undefined, { onprogress: () => {} })
  const cancel = new AbortController()
  const cancelled = client.callTool(
    { ...long, arguments: { duration: 60, steps: CANCELLED_STEPS } },
    undefined,
    {
      signal: cancel.signal,
      onprogress: () => cancel.abort('enough'),
    },
  )
  await assert.rejects(cancelled, /enough/)
  await client.sendRootsListChanged()
  await eventually(() =>
    unasked.filter(({ method }) => method === 'roots/list').length === 2 ? true : undefined,
  )
  await client.ping()
  return {
    said: [...said],
    answers: answers.filter((message) => !isOfCancelled(message)),
    unasked: unasked.slice(unasked.findIndex(({ method }) => method === 'roots/list')),
  }
}

/** A copy, without the parts that differ in each run. */
const plain = (message: object): Message =>
  JSON.parse(
    JSON.stringify(message)
      // The server has the id of its HTTP session, which stdio does not have,
      .replaceAll(/from session [0-9a-f-]{36}| for session (?:undefined|[0-9a-f-]{36})/g, '')
      // and the time of day.
      .replaceAll(/\d+:\d\d:\d\d [AP]M/g, 'TIME'),
  )

/** The server sends progress of a cancelled request for as long as a stream is open. */
const isOfCancelled = ({ params }: Message): boolean => {
  const { total, progress }: { total?: number; progress?: number } = Object(params)
  return total === CANCELLED_STEPS && (progress ?? 0) > 1
}

test('the conversation through the bridge equals the direct one, message for message', {
  timeout: 120_000,
}, async (t) => {
  const target = await everything(t)
  const bin = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')

  const [direct, through] = await Promise.all([
    conversation(t, { command: process.execPath, args: [bin, 'stdio'] }),
    conversation(t, bridgeCommand(target)),
  ])

  assert.deepEqual(through.said, direct.said)
  assert.deepEqual(through.answers, direct.answers)
  assert.deepEqual(through.unasked, direct.unasked)
  const methods = new Set(through.unasked.map(({ method }) => method))
  for (const method of [
    'sampling/createMessage',
    'elicitation/create',
    'roots/list',
    'notifications/message',
    'notifications/resources/updated',
  ])
    assert.ok(methods.has(method), method)
  t.diagnostic(
    `${through.said.length} messages there, ${through.answers.length + through.unasked.length} back`,
  )
})
