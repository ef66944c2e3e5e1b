// A small MCP server to watch: a fast tool, one that waits, one that fails, and one that the proxy denies.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'

const tools = new Map(
  Object.entries({
    roll: () => String(1 + Math.floor(Math.random() * 6)),
    wait: async ({ seconds = Math.random() }) => {
      await setTimeout(seconds * 1000)
      return `I waited ${seconds} s`
    },
    fail: () => {
      throw new Error('this tool always fails')
    },
    read_secrets: () => 'no policy is in front of this server',
  }),
)

const methods = new Map(
  Object.entries({
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'watched', version: '1.0.0' },
    }),
    ping: () => ({}),
    'tools/list': () => ({
      tools: [...tools.keys()].map((name) => ({ name, inputSchema: { type: 'object' } })),
    }),
    'tools/call': async ({ name, arguments: given = {} }) => {
      const text = await (tools.get(name) ?? unknown)(given)
      return { content: [{ type: 'text', text }] }
    },
  }),
)

async function answer(request, response) {
  if (request.method !== 'POST') return response.writeHead(405).end()
  const { id, method, params = {} } = await json(request)
  if (id === undefined) return response.writeHead(202).end()
  const outcome = await new Promise((resolve) => resolve((methods.get(method) ?? unknown)(params))).then(
    (result) => ({ result }),
    ({ message }) => ({ error: { code: -32603, message } }),
  )
  response.writeHead(200, { 'content-type': 'application/json' })
  return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
}

const unknown = () => {
  throw new Error('this server does not have that')
}

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.writeHead(400).end())
})
server.listen(Number(process.env.PORT ?? 9000), () => {
  process.stdout.write(`listening on ${server.address().port}\n`)
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit())
