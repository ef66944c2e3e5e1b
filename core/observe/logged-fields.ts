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
 * The log fields of a request that has ended. Sets field by field: this may run for each call, and spreading optional
 * parts takes as long as the rest of the log line.
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

/** The call, by its headers; older clients send none, and then by the body if it was read. */
function calledBy(request: FastifyRequest): McpHeaders {
  const fromHeaders = mcpHeaders(request.headers)
  const message = fromHeaders.mcpMethod === undefined ? messageRead(request) : undefined
  const call = message?.isBatch === false ? message.calls[0] : undefined
  if (call === undefined || call.method === '') return fromHeaders
  const [subject] = call.subjects
  const mcpMethod = call.method.slice(0, MAX_SUBJECT)
  return { mcpMethod, ...(subject !== undefined && { mcpName: subjectName(subject) }) }
}
