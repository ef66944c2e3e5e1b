import type { FastifyRequest } from 'fastify'
import type { EndedRequest } from '../contract/capabilities/access-sink.js'
import { mcpHeaders } from '../toolkit/mcp-headers.js'
import { isDispatched } from './dispatched-request.js'

// A claim may be as long as a token.
const MAX_SUBJECT = 256

/** The route as declared, never the requested path. */
export const routeOf = ({ routeOptions }: FastifyRequest): string => routeOptions.url ?? 'unknown'

/** What the log has of a request that has ended, besides its route and status. */
export function fieldsOf({ request, durationMs, bytes, aborted }: EndedRequest) {
  const { id, identity, headers, clientAddress } = request
  return {
    durationMs,
    bytes,
    requestId: id,
    ...(identity !== undefined && {
      subject: identity.subject.slice(0, MAX_SUBJECT),
      provider: identity.provider,
    }),
    ...mcpHeaders(headers),
    ...(isDispatched(request) ? { dispatched: true } : { address: clientAddress }),
    ...(aborted && { aborted }),
  }
}
