import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Refusal } from 'sallyport'
import type { z } from 'zod'
import { validatorFor } from './parameters.js'

/** The schemas of a route: requests are validated with them, and the OpenAPI document is made from them. */
export interface RouteSchema {
  readonly summary: string
  readonly tags: readonly string[]
  readonly params?: z.ZodType
  readonly querystring?: z.ZodType
  readonly response: Readonly<Record<number, z.ZodType>>
}

/** A GET and HEAD route with Zod schemas. */
export function routeFor(
  route: Pick<RouteOptions, 'url' | 'handler' | 'preValidation' | 'config'> & {
    readonly schema: RouteSchema
  },
): RouteOptions {
  return {
    method: 'GET',
    validatorCompiler: ({ schema, httpPart }) =>
      validatorFor(schema as z.ZodType, httpPart === 'params' ? 'path' : 'query'),
    // Responses are bytes already: this serializes errors only.
    serializerCompiler: () => (data) => JSON.stringify(data),
    ...route,
  }
}

// Not OPTIONS: a route of this path would come before the one for preflights of any path.
const OTHER_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE']

/** The response of the same path to other methods (RFC 9110, 15.5.6). */
export const otherMethods = ({ url, config }: Pick<RouteOptions, 'url' | 'config'>): RouteOptions => ({
  method: OTHER_METHODS,
  url,
  ...(config !== undefined && { config }),
  // Before the body is read: that of another content type would be a 415.
  onRequest: notAllowed,
  handler: notAllowed,
})

async function notAllowed(_request: FastifyRequest, reply: FastifyReply): Promise<never> {
  reply.header('allow', 'GET, HEAD')
  throw new Refusal(405, 'METHOD_NOT_ALLOWED', 'this can only be read')
}
