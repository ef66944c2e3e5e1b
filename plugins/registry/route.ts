import type { RouteOptions } from 'fastify'
import type { z } from 'zod'
import { validatorFor } from './parameters.js'

/** What a route says of itself: it validates requests, and the OpenAPI document is made from it. */
export interface RouteSchema {
  readonly summary: string
  readonly tags: readonly string[]
  readonly params?: z.ZodType
  readonly querystring?: z.ZodType
  readonly response: Readonly<Record<number, z.ZodType>>
}

/** A GET route, with HEAD beside it, whose schemas are Zod's. */
export function routeFor(
  route: Pick<RouteOptions, 'url' | 'handler' | 'preValidation' | 'config'> & {
    readonly schema: RouteSchema
  },
): RouteOptions {
  return {
    method: 'GET',
    validatorCompiler: ({ schema, httpPart }) =>
      validatorFor(schema as z.ZodType, httpPart === 'params' ? 'path' : 'query'),
    // Answers are bytes by the time they come here.
    serializerCompiler: () => (data) => JSON.stringify(data),
    ...route,
  }
}
