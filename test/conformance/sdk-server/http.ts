import { randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node'
import {
  createMcpHandler,
  createRequestStateCodec,
  isLegacyRequest,
  type McpHttpHandler,
  McpServer,
  type RequestStateCodec,
  type ServerNotifier,
} from '@modelcontextprotocol/server'
import { askingTools, inputCheckingTools, statefulTools } from './asking-tools.js'
import { prompts, resources } from './content.js'
import { changingTools, contentTools, notifyingTools } from './tools.js'

/**
 * A server on the official SDK with the tools of the suite: 2026-07-28 without sessions, and 2025-11-25 with them. It does
 * not check `Host` or `Origin`: the proxy in front of it does.
 */
export async function sdkServer(): Promise<{ url: string; close: () => Promise<void> }> {
  const codec = createRequestStateCodec({ key: randomBytes(32) })
  const modern: McpHttpHandler = createMcpHandler(() => createMcpServer(codec, modern.notify), {
    legacy: 'reject',
  })
  const answerModern = toNodeHandler(modern)
  const sessions = new Sessions(() => createMcpServer(codec, modern.notify))
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const body = await bodyOf(request)
      const legacy = await isLegacyRequest(await toWebRequest(request, body))
      if (legacy) await sessions.answer(request, response, body)
      else await answerModern(request, response, body)
    } catch {
      if (!response.headersSent) refuse(response, 400, -32_700, 'this is no JSON')
    }
  }
  const http = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    close: async () => {
      await modern.close()
      http.closeAllConnections()
      http.close()
    },
  }
}

const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true },
  logging: {},
  completions: {},
}

function createMcpServer(codec: RequestStateCodec, notify: ServerNotifier): McpServer {
  const server = new McpServer(
    { name: 'sdk-server', version: '1.0.0' },
    { capabilities: CAPABILITIES, requestState: { verify: codec.verify } },
  )
  contentTools(server)
  notifyingTools(server)
  changingTools(server, notify)
  askingTools(server)
  inputCheckingTools(server)
  statefulTools(server, codec)
  resources(server)
  prompts(server)
  return server
}

/** The sessions of 2025-11-25, each with a server of its own. */
class Sessions {
  private readonly open = new Map<string, NodeStreamableHTTPServerTransport>()

  constructor(private readonly createMcpServer: () => McpServer) {}

  async answer(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const { 'mcp-session-id': id } = request.headers
    const transport = id === undefined ? await this.begin() : this.open.get(String(id))
    if (transport === undefined) refuse(response, 404, -32_001, 'there is no such session')
    else await transport.handleRequest(request, response, body)
  }

  private async begin(): Promise<NodeStreamableHTTPServerTransport> {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void this.open.set(id, transport),
      onsessionclosed: (id) => void this.open.delete(id),
    })
    const server = this.createMcpServer()
    server.server.setRequestHandler('resources/subscribe', () => ({}))
    server.server.setRequestHandler('resources/unsubscribe', () => ({}))
    await server.connect(transport)
    return transport
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  if (request.method !== 'POST') return undefined
  return JSON.parse(await text(request))
}

function refuse(response: ServerResponse, status: number, code: number, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } }))
}
