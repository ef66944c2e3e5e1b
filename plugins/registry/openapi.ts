import { Authenticator, definePlugin } from 'sallyport'
import { openAccess } from 'sallyport/toolkit'
import { z } from 'zod'
import { type RouteSchema, refuseOtherMethods, routeFor } from './route.js'

export default definePlugin({
  name: 'registry/openapi',
  api: 1,
  summary:
    'Serves `/openapi.json`: every route that comes after it in the list and has a schema, as OpenAPI 3.1.',
  options: z.strictObject({
    anonymous: z
      .boolean()
      .optional()
      .describe('callers are not authenticated; by default as the authenticators of the list say'),
    title: z.string().default('MCP registry').describe('the title of the document'),
  }),

  setup(gateway, { anonymous, title }) {
    const isOpen = openAccess(gateway.use(Authenticator), anonymous)
    const routes: DeclaredRoute[] = []
    gateway.http.addHook('onRoute', ({ url, method, schema, config }) => {
      if (!isRouteSchema(schema)) return
      const needsCaller = config?.public !== true
      for (const each of [method].flat()) {
        if (each !== 'HEAD') routes.push({ url, method: each, schema, needsCaller })
      }
    })

    // The first request makes the document, not every start.
    let document: Buffer | undefined
    const config = { public: true }
    gateway.http.route(
      routeFor({
        url: '/openapi.json',
        config,
        schema: {
          summary: 'This description',
          tags: ['description'],
          response: { 200: z.looseObject({ openapi: z.string() }) },
        },
        handler: (_request, reply) => {
          document ??= Buffer.from(
            JSON.stringify(openApiDocument(title, isOpen() ? routes.map(withoutCaller) : routes)),
          )
          return reply
            .header('cache-control', 'public, max-age=300')
            .header('content-type', 'application/json; charset=utf-8')
            .send(document)
        },
      }),
    )
    refuseOtherMethods(gateway.http, { url: '/openapi.json', config })
  },
})

const isRouteSchema = (schema: unknown): schema is RouteSchema =>
  typeof schema === 'object' && schema !== null && 'summary' in schema && 'response' in schema

const withoutCaller = (route: DeclaredRoute): DeclaredRoute => ({ ...route, needsCaller: false })

export interface DeclaredRoute {
  readonly url: string
  readonly method: string
  readonly schema: RouteSchema
  readonly needsCaller: boolean
}

type Json = Record<string, unknown>

/** The OpenAPI 3.1 document of some routes. */
export function openApiDocument(title: string, routes: readonly DeclaredRoute[]): Json {
  const schemas: Json = { Error: jsonSchema(error, {}) }
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const template = templateOf(route.url)
    paths[template] = { ...paths[template], ...operations(route, schemas) }
  }
  const description = 'Each path below `/v0.1` answers the same below `/v0`.'
  return {
    openapi: '3.1.0',
    info: { title, version: 'v0.1', summary: 'Servers of the Model Context Protocol', description },
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'an access token, see RFC 6750' },
      },
    },
  }
}

const error = z
  .strictObject({
    error: z.string().describe('a code for programs'),
    error_description: z.string().describe('a sentence for people'),
    request_id: z.string().describe('the id of this request in the log'),
  })
  .describe('what went wrong')

const templateOf = (url: string): string => url.replaceAll(/:(\w+)/g, '{$1}')

function operations(route: DeclaredRoute, schemas: Json): Json {
  const { url, method, needsCaller } = route
  const { summary, tags, params, querystring, requestBody, response } = route.schema
  const parameters = [
    ...parametersIn('path', params, schemas),
    ...parametersIn('query', querystring, schemas),
  ]
  const errors = method === 'GET' ? errorsOfReading(route) : errorsOfWriting(route)
  const shared = { tags, parameters, security: needsCaller ? [{ bearer: [] }] : [] }
  const id = idOf(url)
  const withBody = Object.fromEntries(
    Object.entries(response).map(([status, body]) => [
      status,
      content('the response', jsonSchema(body, schemas), mediaTypeOf(status)),
    ]),
  )
  const name = method.toLowerCase()
  const body = requestBody && {
    requestBody: { required: true, content: { [JSON_TYPE]: { schema: jsonSchema(requestBody, schemas) } } },
  }
  const described = { summary, ...shared, ...body, responses: { ...withBody, ...errors } }
  if (method !== 'GET') return { [name]: { operationId: `${name}${id}`, ...described } }
  const withoutBody = Object.fromEntries(
    [...Object.keys(response), ...Object.keys(errors)].map((status) => [
      status,
      { description: 'as for GET, without a body' },
    ]),
  )
  return {
    get: { operationId: `get${id}`, ...described },
    head: {
      operationId: `head${id}`,
      summary: `${summary}: headers only`,
      ...shared,
      responses: withoutBody,
    },
  }
}

const idOf = (url: string): string =>
  url
    .split(/[^a-zA-Z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

function parametersIn(place: 'path' | 'query', schema: z.ZodType | undefined, schemas: Json): Json[] {
  if (schema === undefined) return []
  const { properties, required } = jsonSchema(schema, schemas, 'input')
  const needed = Array.isArray(required) ? required : []
  return Object.entries((properties ?? {}) as Record<string, Json>).map(([name, described]) => {
    const { description, ...rest } = described
    return { name, in: place, required: place === 'path' || needed.includes(name), description, schema: rest }
  })
}

const errorBody = { $ref: '#/components/schemas/Error' }

const NOT_ACCEPTED = { '401': content('a token is missing or was not accepted', errorBody) }

function errorsOfReading({ schema: { params, querystring }, needsCaller }: DeclaredRoute): Json {
  return {
    ...(params !== undefined && { '304': { description: 'not modified' } }),
    ...(querystring !== undefined && { '400': content('a parameter is wrong', errorBody) }),
    ...(needsCaller && NOT_ACCEPTED),
    '403': content('this caller, or this origin, may not ask', errorBody),
    ...(params !== undefined && {
      '404': content('there is no such registry, server or version', errorBody),
      '503': content('the registry has not been loaded yet, or tokens cannot be checked', errorBody),
    }),
  }
}

function errorsOfWriting({ schema: { errors = {} }, needsCaller }: DeclaredRoute): Json {
  const further = Object.entries(errors).map(([status, when]) => [status, content(when, errorBody)])
  return { ...(needsCaller && NOT_ACCEPTED), ...Object.fromEntries(further) }
}

const JSON_TYPE = 'application/json'

// RFC 9457.
const mediaTypeOf = (status: string): string => (status === '200' ? JSON_TYPE : 'application/problem+json')

function content(description: string, schema: Json, type = 'application/json'): Json {
  return { description, content: { [type]: { schema } } }
}

/** A JSON Schema; moves each schema that has an id to `schemas`. */
function jsonSchema(schema: z.ZodType, schemas: Json, io: 'input' | 'output' = 'output'): Json {
  const {
    $schema: _,
    $defs,
    ...root
  } = refersToComponents(z.toJSONSchema(schema, { target: 'draft-2020-12', io, override: withWireSchema }))
  Object.assign(schemas, $defs)
  const { id, ...rest } = root
  if (typeof id !== 'string') return rest
  schemas[id] = rest
  return { $ref: `#/components/schemas/${id}` }
}

const refersToComponents = (schema: unknown): Json =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))

// Zod describes the text that a parameter is parsed from; `wire` is its schema for callers.
function withWireSchema({ jsonSchema }: { readonly jsonSchema: Json }): void {
  const { wire, ...kept } = jsonSchema
  if (typeof wire !== 'object') return
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key]
  const { description } = kept
  Object.assign(jsonSchema, wire, description !== undefined && { description })
}
