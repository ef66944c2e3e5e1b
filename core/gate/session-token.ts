import type { FastifyRequest } from 'fastify'
import type { BrowserSession } from '../contract/capabilities/browser-session.js'
import { BearerToken, type Credentials } from '../contract/credentials.js'

/** A cookie comes with requests that other sites make too, so it opens nothing that changes anything. */
export const mayUseSession = ({ method, headers, routeOptions }: FastifyRequest): boolean =>
  routeOptions.config.session === true &&
  (method === 'GET' || method === 'HEAD') &&
  headers.authorization === undefined

/** The token of the first session that the request belongs to. */
export async function sessionToken(
  sessions: readonly BrowserSession[],
  request: FastifyRequest,
): Promise<Credentials> {
  for (const session of sessions) {
    const token = await session.token(request)
    if (token !== undefined) return new BearerToken(token)
  }
  return NONE
}

const NONE: Credentials = { kind: 'none' }
