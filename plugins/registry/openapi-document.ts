import { z } from 'zod'
import type { RouteSchema } from './route.js'

/** A route as it was declared. */
export interface Declared {
  readonly url: string
  readonly schema: RouteSchema
  readonly needsCaller: boolean
}

type Json = Record<string, unknown>

/** The OpenAPI 3.1 document of some routes. */
export function openApiDocument(title: string, routes: readonly Declared[]): Json {
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
    request_id: z.string().describe('what the log knows this request by'),
  })
  .describe('what went wrong')

const templateOf = (url: string): string => url.replaceAll(/:(\w+)/g, '{$1}')

function pathItem({ url, schema, needsCaller }: Declared, schemas: Json): Json {
  const { summary, tags, params, querystring, response } = schema
  const parameters = [
    ...parametersIn('path', params, schemas),
    ...parametersIn('query', querystring, schemas),
  ]
  const refusals = refusalsOf({ params, querystring, needsCaller })
  const shared = { tags, parameters, security: needsCaller ? [{ bearer: [] }] : [] }
  const id = idOf(url)
  const withBody = Object.fromEntries(
    Object.entries(response).map(([status, body]) => [
      status,
      answer('the answer', jsonSchema(body, schemas)),
    ]),
  )
  const bodiless = Object.fromEntries(
    [...Object.keys(response), ...Object.keys(refusals)].map((status) => [
      status,
      { description: 'as for GET, without a body' },
    ]),
  )
  return {
    get: { operationId: `get${id}`, summary, ...shared, responses: { ...withBody, ...refusals } },
    head: { operationId: `head${id}`, summary: `${summary}: headers only`, ...shared, responses: bodiless },
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

function refusalsOf(route: Pick<RouteSchema, 'params' | 'querystring'> & { needsCaller: boolean }): Json {
  const body = { $ref: '#/components/schemas/Error' }
  return {
    ...(route.params !== undefined && { '304': { description: 'what you have is still right' } }),
    ...(route.querystring !== undefined && { '400': answer('a parameter is wrong', body) }),
    ...(route.needsCaller && { '401': answer('a token is missing or was not accepted', body) }),
    '403': answer('this caller, or this origin, may not ask', body),
    ...(route.params !== undefined && {
      '404': answer('there is no such registry, server or version', body),
      '503': answer('the registry has not been loaded yet, or tokens cannot be checked', body),
    }),
  }
}

const answer = (description: string, schema: Json): Json => ({
  description,
  content: { 'application/json': { schema } },
})

/** A schema, with everything in it that has a name of its own moved to `schemas`. */
function jsonSchema(schema: z.ZodType, schemas: Json, io: 'input' | 'output' = 'output'): Json {
  const {
    $schema: _,
    $defs,
    ...root
  } = refersToComponents(z.toJSONSchema(schema, { target: 'draft-2020-12', io, override: asOnTheWire }))
  Object.assign(schemas, $defs)
  const { id, ...rest } = root
  if (typeof id !== 'string') return rest
  schemas[id] = rest
  return { $ref: `#/components/schemas/${id}` }
}

const refersToComponents = (schema: unknown): Json =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))

// A parameter arrives as text and is read as something else; `wire` says what a caller has to know of it.
function asOnTheWire({ jsonSchema }: { readonly jsonSchema: Json }): void {
  const { wire, ...kept } = jsonSchema
  if (typeof wire !== 'object') return
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key]
  const { description } = kept
  Object.assign(jsonSchema, wire, description !== undefined && { description })
}
