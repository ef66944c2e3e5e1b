import type { McpCall, McpMessage, TraceBeginning } from 'sallyport'
import { routeOf, subjectName } from 'sallyport/toolkit'

export type Attributes = Record<string, string | number>

/** The name and attributes of a request's span, by OpenTelemetry's conventions for MCP and for HTTP. */
export interface Description {
  readonly name: string
  readonly attributes: Attributes
}

/** Callers choose names, ids and sessions: a span cuts them, and its own name, at this length. */
export const MAX_LENGTH = 256
const short = (text: string): string => text.slice(0, MAX_LENGTH)

export function describe(beginning: Pick<TraceBeginning, 'request' | 'message'>): Description {
  const { request, message } = beginning
  const http = describeHttp(request)
  const attributes = { ...http.attributes, ...connectionOf(beginning) }
  const call = singleCall(message)
  if (call === undefined) return { name: http.name, attributes }

  const named = subjectOf(call)
  const target = named['gen_ai.tool.name'] ?? named['gen_ai.prompt.name']
  return {
    name: short(target === undefined ? call.method : `${call.method} ${target}`),
    attributes: { ...attributes, 'mcp.method.name': short(call.method), ...idOf(call), ...named },
  }
}

// The conventions for MCP describe one message. A batch of several calls, and a client's response, count as plain HTTP.
function singleCall(message: McpMessage | undefined): McpCall | undefined {
  const [call, ...others] = message?.calls ?? []
  return others.length > 0 || call?.method === '' ? undefined : call
}

const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'])

function describeHttp(request: TraceBeginning['request']): Description {
  const method = METHODS.has(request.method) ? request.method : undefined
  const route = routeOf(request)
  return {
    name: short(route === 'unknown' ? (method ?? 'HTTP') : `${method ?? 'HTTP'} ${route}`),
    attributes: {
      'http.request.method': method ?? '_OTHER',
      ...(route !== 'unknown' && { 'http.route': short(route) }),
    },
  }
}

function connectionOf({ request, message }: Pick<TraceBeginning, 'request' | 'message'>): Attributes {
  const session = request.headers['mcp-session-id']
  const version = message?.protocolVersion
  return {
    ...(version !== undefined && { 'mcp.protocol.version': short(version) }),
    ...(typeof session === 'string' && { 'mcp.session.id': short(session) }),
  }
}

const idOf = ({ id, idText = String(id) }: McpCall): Attributes =>
  id === undefined || id === null ? {} : { 'jsonrpc.request.id': short(idText) }

function subjectOf({ method, subjects }: McpCall): Attributes {
  const [subject, ...others] = subjects
  if (subject === undefined || others.length > 0) return {}
  const { kind } = subject
  const name = subjectName(subject)
  if (kind === 'resource') return { 'mcp.resource.uri': name }
  if (kind === 'prompt') return { 'gen_ai.prompt.name': name }
  return {
    'gen_ai.tool.name': name,
    ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
  }
}
