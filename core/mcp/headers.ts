import type { IncomingHttpHeaders } from 'node:http'
import { MCP_METHODS } from './methods.js'
import { subjectName } from './subject-name.js'

// The first version whose clients must send these headers, and whose servers compare them with the body.
const FIRST_VERSION = '2026-07-28'
const MAX_LENGTH = 128

/** The method and the subject of an MCP request, for a log. */
export interface McpHeaders {
  readonly mcpMethod?: string
  readonly mcpName?: string
}

/** Whether requests of this version name their call in headers. */
export const hasMcpHeaders = (version: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(version) && version >= FIRST_VERSION

/**
 * The call that the headers of a request name, for a log: short and printable. Nothing for versions whose headers may
 * lie.
 */
export function mcpHeaders(headers: IncomingHttpHeaders): McpHeaders {
  const version = headers['mcp-protocol-version']
  if (typeof version !== 'string' || !hasMcpHeaders(version)) return {}
  const [mcpMethod, name] = [printable(headers['mcp-method']), nameIn(headers)]
  return {
    ...(mcpMethod !== undefined && { mcpMethod: mcpMethod.slice(0, MAX_LENGTH) }),
    ...(name !== undefined && name !== '' && { mcpName: name.slice(0, MAX_LENGTH) }),
  }
}

/** Not cut to a length yet: `subjectName` finds the credentials of a URI by the characters that follow them. */
function nameIn(headers: IncomingHttpHeaders): string | undefined {
  const name = printable(headers['mcp-name'])
  if (name === undefined) return undefined
  const naming = MCP_METHODS.get(String(headers['mcp-method']))
  // The identifier of a task may be enough to get its result.
  if (naming === 'nothing') return undefined
  return naming === 'tool' || naming === 'prompt' ? name : subjectName({ kind: 'resource', name })
}

// The name of a resource is its URI, whose query may hold secrets like that of a request.
const printable = (text: string | string[] | undefined): string | undefined =>
  typeof text === 'string' && /^[\x20-\x7e]+$/.test(text) ? /^[^?#]+/.exec(text)?.[0] : undefined
