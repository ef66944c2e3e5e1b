import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Refusal, UpstreamError } from 'sallyport'
import type { z } from 'zod'

/** The schemas of a route: requests are validated with them, and the OpenAPI document is made from them. */
export interface RouteSchema {
  /** Undefined for a route that is a second path of a described route. */
  readonly summary?: string
  readonly tags: readonly string[]
  readonly params?: z.ZodType
  readonly querystring?: z.ZodType
  /** The handler itself reads the body. */
  readonly requestBody?: z.ZodType
  readonly response: Readonly<Record<number, z.ZodType>>
  /** Further error responses by status, with the condition of each. */
  readonly errors?: Readonly<Record<number, string>>
}

/** The two prefixes of the API; clients of the official registry use the second. */
export const API_VERSIONS = ['v0.1', 'v0'] as const

export type ApiVersion = (typeof API_VERSIONS)[number]

/** Declares a route with Zod schemas, for GET and HEAD unless it names another method. */
export function routeFor(
  route: Pick<RouteOptions, 'url' | 'handler' | 'onSend' | 'config'> & {
    readonly method?: 'POST' | 'PATCH' | 'DELETE'
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

const QUERY = 'QUERY'
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', QUERY]

/** Refuses the methods of a path that have no route yet (RFC 9110, 15.5.6): those that have one are declared before. */
export function refuseOtherMethods(
  http: FastifyInstance,
  { url, config }: Pick<RouteOptions, 'url' | 'config'>,
): void {
  if (!http.supportedMethods.includes(QUERY)) http.addHttpMethod(QUERY, { hasBody: false })
  const [own, others] = [true, false].map((has) =>
    METHODS.filter((method) => http.hasRoute({ method, url: http.prefix + url }) === has),
  )
  const allow = own?.join(', ')
  const notAllowed = async (_request: FastifyRequest, reply: FastifyReply): Promise<never> => {
    reply.header('allow', allow)
    throw new Refusal(405, 'METHOD_NOT_ALLOWED', `this path takes only ${allow}`)
  }
  const route = {
    url,
    ...(config !== undefined && { config }),
    // Runs before Fastify parses the body: another content type would be a 415.
    onRequest: notAllowed,
    handler: notAllowed,
  }
  http.route({ ...route, method: others ?? [] })
  // Another plugin has the route for preflights of all paths.
  http.route({ ...route, method: 'OPTIONS', constraints: { preflight: false } })
}

/** A 400 that names the parameter and never its value. */
export function wrongParameter(part: 'path' | 'query', name: string, message: string): Error {
  const error = new Error(`${part} parameter "${name}": ${message}`)
  // Fastify's own code: the kernel sends the message of such an error to the caller.
  return Object.assign(error, { statusCode: 400, code: 'FST_ERR_VALIDATION' })
}

/** Validates a part of the request; the handler receives the output of the schema. */
function validatorFor(schema: z.ZodType, part: 'path' | 'query') {
  return (data: unknown) => {
    const read = schema.safeParse(data)
    if (read.success) return { value: read.data }
    const [issue] = read.error.issues
    return { error: wrongParameter(part, String(issue?.path[0] ?? ''), issue?.message ?? 'invalid') }
  }
}

export const notLoaded = (): UpstreamError =>
  new UpstreamError('REGISTRY_NOT_LOADED', 'this registry has not been loaded yet', {
    statusCode: 503,
    retryAfter: 5,
  })
