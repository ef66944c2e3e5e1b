import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { McpEra } from './mcp-target.js'

/** A server of one era, without its socket. */
export interface EraServer {
  answer(request: IncomingMessage, response: ServerResponse, body: string): Promise<void>
  sessions(): number
  announce(): Promise<void>
  forget(): Promise<void>
}

/** Both SDKs register tools in this way; their classes have nothing else in common. */
interface ToolServer {
  registerTool(name: string, about: object, call: unknown): unknown
}

/** Starts a server of this era. Loads its SDK only now: tests of another era do not need it. */
export function eraServer(era: McpEra): Promise<EraServer> {
  if (era === '2026-07-28') return stateless()
  return era === '2024-11-05' ? overOneStream() : withSessions()
}

async function withSessions(): Promise<EraServer> {
  const { McpServer, StreamableHTTPServerTransport } = await loadPackages(
    ['@modelcontextprotocol/sdk'],
    async () => ({
      ...(await import('@modelcontextprotocol/sdk/server/mcp.js')),
      ...(await import('@modelcontextprotocol/sdk/server/streamableHttp.js')),
    }),
  )
  const open: Sessions<InstanceType<typeof StreamableHTTPServerTransport>> = new Map()
  const begin = async () => {
    const server = new McpServer(SERVER_INFO)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void open.set(id, { server, transport }),
      onsessionclosed: (id) => void open.delete(id),
    })
    offer(server, (extra) => (extra as Extra).requestInfo?.headers ?? {})
    // The SDK's class does not fit its own interface under exactOptionalPropertyTypes.
    await server.connect(transport as never)
    return transport
  }
  return inSessions(open, async (request, response, body) => {
    if (!isAt('/mcp', request)) return notFound(response)
    const id = request.headers['mcp-session-id']
    const transport = id === undefined ? await begin() : open.get(String(id))?.transport
    if (transport === undefined) return refuse(response, 404, -32_001, 'there is no such session')
    await transport.handleRequest(request, response, parsed(body))
  })
}

async function overOneStream(): Promise<EraServer> {
  const { McpServer, SSEServerTransport } = await loadPackages(['@modelcontextprotocol/sdk'], async () => ({
    ...(await import('@modelcontextprotocol/sdk/server/mcp.js')),
    ...(await import('@modelcontextprotocol/sdk/server/sse.js')),
  }))
  const open: Sessions<InstanceType<typeof SSEServerTransport>> = new Map()
  return inSessions(open, async (request, response, body) => {
    if (request.method === 'GET' && isAt('/sse', request)) {
      const server = new McpServer(SERVER_INFO)
      offer(server, (extra) => (extra as Extra).requestInfo?.headers ?? {})
      const transport = new SSEServerTransport('/messages', response)
      open.set(transport.sessionId, { server, transport })
      response.on('close', () => open.delete(transport.sessionId))
      return server.connect(transport as never)
    }
    const id = new URL(request.url ?? '/', 'http://target').searchParams.get('sessionId') ?? ''
    const stream = open.get(id)
    if (stream === undefined) return notFound(response)
    await stream.transport.handlePostMessage(request, response, parsed(body))
  })
}

/** Sessions by their IDs, each with a server of its own. */
type Sessions<Transport> = Map<string, { readonly server: SessionServer; readonly transport: Transport }>

interface SessionServer {
  readonly server: { sendToolListChanged(): Promise<void> }
  close(): Promise<void>
}

function inSessions(open: Sessions<unknown>, answer: EraServer['answer']): EraServer {
  return {
    answer,
    sessions: () => open.size,
    async announce() {
      await Promise.all([...open.values()].map(({ server }) => server.server.sendToolListChanged()))
    },
    async forget() {
      const servers = [...open.values()].map(({ server }) => server)
      open.clear()
      await Promise.all(servers.map((server) => server.close()))
    },
  }
}

async function stateless(): Promise<EraServer> {
  const packages = ['@modelcontextprotocol/server', '@modelcontextprotocol/node'] as const
  const { McpServer, createMcpHandler, toNodeHandler } = await loadPackages(packages, async () => ({
    ...(await import('@modelcontextprotocol/server')),
    ...(await import('@modelcontextprotocol/node')),
  }))
  const createServer = () => {
    const server = new McpServer(SERVER_INFO, { capabilities: { tools: { listChanged: true } } })
    offer(server, (context) => Object.fromEntries((context as Context).http?.req?.headers ?? []))
    return server
  }
  const handler = createMcpHandler(createServer, { legacy: 'reject' })
  const answer = toNodeHandler(handler)
  return {
    sessions: () => 0,
    answer: async (request, response, body) =>
      isAt('/mcp', request) ? answer(request, response, parsed(body)) : notFound(response),
    announce: async () => handler.notify.toolsChanged(),
    forget: () => handler.close(),
  }
}

const SERVER_INFO = { name: 'target', version: '1.0.0' }

/** The context of a tool call, in the first SDK (`Extra`) and in the second (`Context`). */
interface Extra {
  readonly requestInfo?: { readonly headers: IncomingHttpHeaders }
  readonly _meta?: Meta
  sendNotification?(notification: object): Promise<void>
}
interface Context {
  readonly http?: { readonly req?: { readonly headers: Headers } }
  readonly mcpReq?: { readonly _meta?: Meta; notify(notification: object): Promise<void> }
}
type Meta = { readonly progressToken?: string | number }

function offer(server: ToolServer, headersOf: (extra: unknown) => IncomingHttpHeaders): void {
  const numbers = z.object({ a: z.number(), b: z.number() })
  const add = ({ a, b }: z.output<typeof numbers>) => textResult(String(a + b))
  server.registerTool('add', { description: 'Adds two numbers.', inputSchema: numbers }, add)

  const limit = z.object({ to: z.int().min(1).max(1000) })
  const count = async ({ to }: z.output<typeof limit>, extra: Extra & Context) => {
    const { progressToken } = extra._meta ?? extra.mcpReq?._meta ?? {}
    for (let progress = 1; progressToken !== undefined && progress <= to; progress++) {
      const notification = {
        method: 'notifications/progress',
        params: { progressToken, progress, total: to },
      }
      await (extra.sendNotification?.(notification) ?? extra.mcpReq?.notify(notification))
    }
    return textResult(String(to))
  }
  server.registerTool('count', { description: 'Counts, and reports progress.', inputSchema: limit }, count)

  const nothing = z.object({})
  const headers = (_given: unknown, extra: unknown) => textResult(JSON.stringify(headersOf(extra)))
  server.registerTool(
    'headers',
    { description: 'Returns the headers of the call.', inputSchema: nothing },
    headers,
  )
  const fail = () => {
    throw new Error('this tool always fails')
  }
  server.registerTool('fail', { description: 'Fails.', inputSchema: nothing }, fail)
}

const textResult = (text: string) => ({ content: [{ type: 'text' as const, text }] })

async function loadPackages<Module>(
  packages: readonly string[],
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    const names = packages.join(' ')
    throw new Error(
      `an MCP target of this era needs packages that are not installed: npm install --save-dev ${names}`,
      {
        cause,
      },
    )
  }
}

const isAt = (path: string, { url = '' }: IncomingMessage): boolean => url.split('?')[0] === path

const parsed = (body: string): unknown => {
  try {
    return body === '' ? undefined : JSON.parse(body)
  } catch {
    // The SDK refuses it.
    return body
  }
}

function notFound(response: ServerResponse): void {
  response.writeHead(404).end()
}

function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }))
}
