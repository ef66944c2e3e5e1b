import type { FastifyRequest } from 'fastify'
import type { EndedRequest } from '../contract/capabilities/access-sink.js'
import { mcpHeaders } from '../toolkit/mcp-headers.js'
import { isDispatched } from './dispatched-request.js'

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
  const { id: requestId, identity, headers } = request
  const fields: Record<string, unknown> = { route: routeOf(request), status, durationMs, bytes, requestId }
  if (identity !== undefined) {
    fields['subject'] = identity.subject.slice(0, MAX_SUBJECT)
    fields['provider'] = identity.provider
  }
  const { mcpMethod, mcpName } = mcpHeaders(headers)
  if (mcpMethod !== undefined) fields['mcpMethod'] = mcpMethod
  if (mcpName !== undefined) fields['mcpName'] = mcpName
  if (isDispatched(request)) fields['dispatched'] = true
  else fields['address'] = request.clientAddress
  if (aborted) fields['aborted'] = true
  return fields
}
