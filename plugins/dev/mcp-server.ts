import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { definePlugin, secretText } from 'sallyport'
import { z } from 'zod'
import { loopbackAddress, optional, serveOnLoopback } from './loopback.js'
import { addTools } from './tools.js'

export default definePlugin({
  name: 'dev/mcp-server',
  api: 1,
  summary:
    'Runs a small MCP server on loopback, for development: something to stand in front of, and to call tools of.',
  oneProcess: 'its sessions are in the memory of one process',
  options: z.strictObject({
    address: loopbackAddress().describe('`HOST:PORT` on loopback, and nowhere else; it answers at `/mcp`'),
    token: secretText().optional().describe('a bearer token without which it answers nobody'),
    callerHeader: z
      .string()
      .default('x-caller')
      .describe('the header in which a gateway tells it who the caller is'),
  }),

  async setup(gateway, options) {
    const { address, token, callerHeader } = options
    const { McpServer, StreamableHTTPServerTransport } = await optional(
      '@modelcontextprotocol/sdk',
      async () => ({
        ...(await import('@modelcontextprotocol/sdk/server/mcp.js')),
        ...(await import('@modelcontextprotocol/sdk/server/streamableHttp.js')),
      }),
    )

    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      // Without sessions: a server for each request, so that one request is a whole conversation.
      const server = new McpServer({ name: 'sample', version: '1.0.0' })
      addTools(server, request, callerHeader)
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
      response.on('close', () => void server.close())
      // The SDK's class does not fit its own interface under exactOptionalPropertyTypes.
      await server.connect(transport as never)
      await transport.handleRequest(request, response)
    }
    const answers = (): RequestListener => (request, response) => {
      const isLet = token === undefined || request.headers.authorization === `Bearer ${token}`
      if (!isLet || request.url !== '/mcp') {
        response.writeHead(isLet ? 404 : 401).end()
        return
      }
      answer(request, response).catch((error: unknown) => {
        gateway.log.error({ err: error }, 'the sample server failed')
        response.destroy()
      })
    }
    serveOnLoopback(gateway, { address, options, answers })
  },
})
