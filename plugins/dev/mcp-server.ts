import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ConfigError, definePlugin } from 'sallyport'
import { secretText } from 'sallyport/toolkit'
import { z } from 'zod'
import { loopbackAddress, serveOnLoopback } from './loopback.js'

export default definePlugin({
  name: 'dev/mcp-server',
  api: 1,
  summary: 'Runs a small MCP server on loopback, for development.',
  oneProcess: 'its sessions are in the memory of one process',
  options: z.strictObject({
    address: loopbackAddress().describe('`HOST:PORT`, loopback only; its path is `/mcp`'),
    token: secretText().optional().describe('a bearer token that every request needs'),
    callerHeader: z.string().default('x-caller').describe('the header in which a gateway names the caller'),
  }),

  async setup(gateway, options) {
    const { address, token, callerHeader } = options
    const { McpServer, StreamableHTTPServerTransport } = await loadSdk()

    const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      // Stateless: a server for each request.
      const server = new McpServer({ name: 'sample', version: '1.0.0' })
      addTools(server, request, callerHeader)
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
      response.on('close', () => void server.close())
      // The SDK's class does not fit its own interface under exactOptionalPropertyTypes.
      await server.connect(transport as never)
      await transport.handleRequest(request, response)
    }
    const handler = (): RequestListener => (request, response) => {
      const isAuthorized = token === undefined || request.headers.authorization === `Bearer ${token}`
      if (!isAuthorized || request.url !== '/mcp') {
        response.writeHead(isAuthorized ? 404 : 401).end()
        return
      }
      handle(request, response).catch((error: unknown) => {
        gateway.log.error({ err: error }, 'the sample server failed')
        response.destroy()
      })
    }
    serveOnLoopback(gateway, { address, options, handler })
  },
})

/** Three tools: arithmetic, dice, and one that shows the caller and credential as the server received them. */
export function addTools(server: McpServer, { headers }: IncomingMessage, callerHeader: string): void {
  server.registerTool(
    'add',
    { description: 'Adds two numbers.', inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => textResult(String(a + b)),
  )
  server.registerTool(
    'roll',
    { description: 'Rolls dice.', inputSchema: { dice: z.int().min(1).max(10).default(1) } },
    ({ dice }) => textResult(Array.from({ length: dice }, () => 1 + Math.floor(Math.random() * 6)).join(' ')),
  )
  server.registerTool(
    'whoami',
    {
      description:
        'Returns the caller that the gateway names, and the start of the credential that it sends.',
    },
    () => {
      const caller = headers[callerHeader.toLowerCase()] ?? 'nobody I know'
      const { authorization = 'no credential' } = headers
      return textResult(`You are ${String(caller)}. What reached me is ${authorization.slice(0, 24)}...`)
    },
  )
}

const textResult = (text: string) => ({ content: [{ type: 'text' as const, text }] })

/** Imports the package that only development needs. */
async function loadSdk() {
  const name = '@modelcontextprotocol/sdk'
  try {
    return {
      ...(await import('@modelcontextprotocol/sdk/server/mcp.js')),
      ...(await import('@modelcontextprotocol/sdk/server/streamableHttp.js')),
    }
  } catch (cause) {
    const message = `the package ${name} is not installed, which only development needs: \`npm install ${name}@1\``
    throw new ConfigError([{ place: name, message }], { cause })
  }
}
