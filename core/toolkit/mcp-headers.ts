import type { IncomingHttpHeaders } from 'node:http'

// The first version whose clients have to send them, and whose servers compare them with the body.
const FIRST_VERSION = '2026-07-28'
const MAX_LENGTH = 128

/** What an MCP request calls. */
export interface McpHeaders {
  readonly mcpMethod?: string
  readonly mcpName?: string
}

/** What the headers of a request say that it calls, for a log: short, printable, and nothing where they need not be true. */
export function mcpHeaders(headers: IncomingHttpHeaders): McpHeaders {
  const version = headers['mcp-protocol-version']
  if (typeof version !== 'string' || !/^\d{4}-\d\d-\d\d$/.test(version) || version < FIRST_VERSION) return {}
  const [mcpMethod, mcpName] = [printable(headers['mcp-method']), printable(headers['mcp-name'])]
  return { ...(mcpMethod !== undefined && { mcpMethod }), ...(mcpName !== undefined && { mcpName }) }
}

// The name of a resource is its URI, whose query is as secret as that of a request.
const printable = (text: string | string[] | undefined): string | undefined =>
  typeof text === 'string' && /^[\x20-\x7e]+$/.test(text)
    ? /^[^?#]+/.exec(text)?.[0].slice(0, MAX_LENGTH)
    : undefined
