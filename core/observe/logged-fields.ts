import type { FastifyRequest } from 'fastify'
import type { EndedRequest } from '../contract/capabilities/access-sink.js'
import { isDispatched } from '../http/dispatched-request.js'
import { type McpHeaders, mcpHeaders } from '../mcp/headers.js'
import { messageRead } from '../mcp/message.js'
import { subjectName } from '../mcp/subject-name.js'

// A claim may be as long as a token.
const MAX_SUBJECT = 256

/** The route as declared, never the requested path. */
export const routeOf = ({ routeOptions }: FastifyRequest): string => routeOptions.url ?? 'unknown'

/**
 * What the log has of a request that has ended. Field by field: this may run for each call, and to spread parts that may be
 * missing takes as long as all else of its line.
 */
export function fieldsOf(ended: EndedRequest): Readonly<Record<string, unknown>> {
  const { request, status, durationMs, bytes, aborted } = ended
  const { id: requestId, identity } = request
  const fields: Record<string, unknown> = { route: routeOf(request), status, durationMs, bytes, requestId }
  if (identity !== undefined) {
    fields['subject'] = identity.subject.slice(0, MAX_SUBJECT)
    fields['provider'] = identity.provider
  }
  const { mcpMethod, mcpName } = calledBy(request)
  if (mcpMethod !== undefined) fields['mcpMethod'] = mcpMethod
  if (mcpName !== undefined) fields['mcpName'] = mcpName
  if (isDispatched(request)) fields['dispatched'] = true
  else fields['address'] = request.clientAddress
  if (aborted) fields['aborted'] = true
  return fields
}

/** Of a body that was read, where the headers tell nothing: older clients send none. */
function calledBy(request: FastifyRequest): McpHeaders {
  const told = mcpHeaders(request.headers)
  const message = told.mcpMethod === undefined ? messageRead(request) : undefined
  const call = message?.isBatch === false ? message.calls[0] : undefined
  if (call === undefined || call.method === '') return told
  const [subject] = call.subjects
  const mcpMethod = call.method.slice(0, MAX_SUBJECT)
  return { mcpMethod, ...(subject !== undefined && { mcpName: subjectName(subject) }) }
}
