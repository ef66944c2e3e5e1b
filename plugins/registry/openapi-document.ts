import { z } from 'zod'
import type { RouteSchema } from './route.js'

export interface DeclaredRoute {
  readonly url: string
  readonly schema: RouteSchema
  readonly needsCaller: boolean
}

type Json = Record<string, unknown>

/** The OpenAPI 3.1 document of some routes. */
export function openApiDocument(title: string, routes: readonly DeclaredRoute[]): Json {
  const schemas: Json = { Error: jsonSchema(error, {}) }
  const paths = Object.fromEntries(routes.map((route) => [templateOf(route.url), pathItem(route, schemas)]))
  return {
    openapi: '3.1.0',
    info: { title, version: 'v0.1', summary: 'Servers of the Model Context Protocol' },
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

function pathItem({ url, schema, needsCaller }: DeclaredRoute, schemas: Json): Json {
  const { summary, tags, params, querystring, response } = schema
  const parameters = [
    ...parametersIn('path', params, schemas),
    ...parametersIn('query', querystring, schemas),
  ]
  const errors = errorResponses({ params, querystring, needsCaller })
  const shared = { tags, parameters, security: needsCaller ? [{ bearer: [] }] : [] }
  const id = idOf(url)
  const withBody = Object.fromEntries(
    Object.entries(response).map(([status, body]) => [
      status,
      content('the response', jsonSchema(body, schemas)),
    ]),
  )
  const withoutBody = Object.fromEntries(
    [...Object.keys(response), ...Object.keys(errors)].map((status) => [
      status,
      { description: 'as for GET, without a body' },
    ]),
  )
  return {
    get: { operationId: `get${id}`, summary, ...shared, responses: { ...withBody, ...errors } },
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

function errorResponses(route: Pick<RouteSchema, 'params' | 'querystring'> & { needsCaller: boolean }): Json {
  const body = { $ref: '#/components/schemas/Error' }
  return {
    ...(route.params !== undefined && { '304': { description: 'not modified' } }),
    ...(route.querystring !== undefined && { '400': content('a parameter is wrong', body) }),
    ...(route.needsCaller && { '401': content('a token is missing or was not accepted', body) }),
    '403': content('this caller, or this origin, may not ask', body),
    ...(route.params !== undefined && {
      '404': content('there is no such registry, server or version', body),
      '503': content('the registry has not been loaded yet, or tokens cannot be checked', body),
    }),
  }
}

const content = (description: string, schema: Json): Json => ({
  description,
  content: { 'application/json': { schema } },
})

/** A JSON Schema; what has an id in it is moved to `schemas`. */
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
