import type { SerializerFn } from 'pino'
import { foreignPlace } from '../foreign-place.js'

interface RequestShape {
  readonly id?: unknown
  readonly method?: string
  readonly url?: string
  readonly routeOptions?: { readonly url?: string }
}

/** A request without query and headers: the path says what was asked for, the route which handler it met. */
export function requestFields(request: RequestShape): Record<string, unknown> {
  const [path] = (request.url ?? '').split('?', 1)
  return { id: request.id, method: request.method, path, route: request.routeOptions?.url }
}

export function responseFields({ statusCode }: { readonly statusCode?: number }): Record<string, unknown> {
  return { statusCode }
}

// As deep as anybody wraps errors on purpose. A chain may also run in a circle.
const deepestCause = 6

/** Errors as type, code, message and causes, and the line of a person's own plugin; the whole stack only `withStack`. */
export function errorFields(withStack: boolean): SerializerFn {
  return (error: unknown) => described(error, withStack, deepestCause)
}

function described(error: unknown, withStack: boolean, depth: number): unknown {
  if (!(error instanceof Error)) return error
  const { name, message, stack, cause } = error
  return {
    type: name,
    code: 'code' in error ? error.code : undefined,
    message,
    at: foreignPlace(error),
    stack: withStack ? stack : undefined,
    cause: cause === undefined || depth === 0 ? undefined : described(cause, withStack, depth - 1),
    errors: inner(error)?.map((each) => (depth === 0 ? undefined : described(each, withStack, depth - 1))),
  }
}

function inner(error: Error): readonly unknown[] | undefined {
  return error instanceof AggregateError ? error.errors : undefined
}
