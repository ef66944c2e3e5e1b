import { createRequire } from 'node:module'
import type { FastifyServerOptions } from 'fastify'

type Controller = NonNullable<FastifyServerOptions['schemaController']>
type Route = { readonly httpPart?: string; readonly schema: unknown }
type Factory = (...given: readonly unknown[]) => (route: Route) => unknown

// Fastify's own, wherever they are installed.
const load = createRequire(createRequire(import.meta.url).resolve('fastify'))

const factory = (name: string): Factory => {
  const select: () => Factory = load(name)
  return select()
}

const compilers: Record<'buildValidator' | 'buildSerializer', Factory> = {
  buildValidator: (...given) => {
    const compile = factory('@fastify/ajv-compiler')(...given)
    return (route) => {
      if (route.httpPart === 'headers') refuseCapitals(route.schema)
      return compile(route)
    }
  },
  buildSerializer: (...given) => factory('@fastify/fast-json-stringify-compiler')(...given),
}

/**
 * Fastify's compilers of schemas, loaded with the first route that has a schema. They are a fifth of all that a start
 * loads, and few lists have such a route.
 */
// What is handed through has types of packages that only Fastify depends on.
export const schemaCompilers = compilers as Controller['compilersFactory']

/** Requests have lower-case names only. Fastify changes a schema's for its own compilers, and for no others. */
function refuseCapitals(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return
  for (const [keyword, value] of Object.entries(schema)) {
    const names = keyword === 'required' ? value : NAMING.has(keyword) ? Object.keys(value ?? {}) : []
    const capital = [names].flat().find((name) => typeof name === 'string' && /[A-Z]/.test(name))
    if (capital !== undefined) {
      throw new Error(`a schema of headers names "${capital}": write header names in lower case`)
    }
    refuseCapitals(value)
  }
}

const NAMING: ReadonlySet<string> = new Set([
  'properties',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
])
