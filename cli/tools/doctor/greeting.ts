import type { Probes } from 'sallyport'
import { mcpSender } from './mcp-request.js'

/** A request of the last protocol version in which a client begins with `initialize`. */
export const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'sallyport doctor', version: '1' },
  },
})

/** Sends `initialize` to an MCP server, as a client would. */
export const greet: Probes['greet'] = async (url, options) => {
  const send = await mcpSender(url, options)
  const response = await send({ body: INITIALIZE })
  // The body may be an endless stream.
  response.destroy()
  return { status: response.statusCode ?? 0, challenge: response.headers['www-authenticate'] }
}
