import { createRequire } from 'node:module'
import type ValidatorSelector from '@fastify/ajv-compiler'
import type SerializerSelector from '@fastify/fast-json-stringify-compiler'
import type { FastifyServerOptions } from 'fastify'

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
type Route = { readonly httpPart?: string; readonly schema: unknown }
type Factory = (...args: readonly unknown[]) => (route: Route) => unknown

const load = createRequire(import.meta.url)

const compilers: Record<'buildValidator' | 'buildSerializer', Factory> = {
  buildValidator: (...args) => {
    const select: typeof ValidatorSelector = load('@fastify/ajv-compiler')
    const compile = (select() as Factory)(...args)
    return (route) => {
      if (route.httpPart === 'headers') refuseCapitals(route.schema)
      return compile(route)
    }
  },
  buildSerializer: (...args) => {
    const select: typeof SerializerSelector = load('@fastify/fast-json-stringify-compiler')
    return (select() as Factory)(...args)
  },
}

/**
 * Fastify's default compilers, loaded with the first route that has a schema: few lists have one, and the compilers are
 * a fifth of the code that a start loads.
 */
export const schemaCompilers = compilers as Compilers

/** Node gives header names in lower case. Fastify lowers the names in a schema only for its own compilers. */
function refuseCapitals(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return
  for (const [keyword, value] of Object.entries(schema)) {
    const names =
      keyword === 'required' ? value : KEYWORDS_WITH_NAMES.has(keyword) ? Object.keys(value ?? {}) : []
    const capital = [names].flat().find((name) => typeof name === 'string' && /[A-Z]/.test(name))
    if (capital !== undefined) {
      throw new Error(`a schema of headers names "${capital}": write header names in lower case`)
    }
    refuseCapitals(value)
  }
}

const KEYWORDS_WITH_NAMES: ReadonlySet<string> = new Set([
  'properties',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
])
