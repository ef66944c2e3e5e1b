import type { SerializerFn } from 'pino'
import { pluginFrame } from '../toolkit/plugin-frame.js'

interface RequestShape {
  readonly id?: unknown
  readonly method?: string
  readonly url?: string
  readonly routeOptions?: { readonly url?: string }
}

/** The logged fields of a request, without query and headers: the requested path, and the route that matched. */
export function requestFields(request: RequestShape): Record<string, unknown> {
  const [path] = (request.url ?? '').split('?', 1)
  return { id: request.id, method: request.method, path, route: request.routeOptions?.url }
}

export function responseFields({ statusCode }: { readonly statusCode?: number }): Record<string, unknown> {
  return { statusCode }
}

// Deeper than people wrap errors on purpose. A chain may also be circular.
const MAX_CAUSES = 6

/**
 * The logged fields of an error: type, code, message and causes, and the line in the operator's own plugin; the
 * whole stack only with `withStack`.
 */
export function errorFields(withStack: boolean): SerializerFn {
  return (error: unknown) => describeError(error, withStack, MAX_CAUSES)
}

function describeError(error: unknown, withStack: boolean, depth: number): unknown {
  if (!(error instanceof Error)) return error
  const { name, message, stack, cause } = error
  return {
    type: name,
    code: 'code' in error ? error.code : undefined,
    message,
    at: pluginFrame(error),
    stack: withStack ? stack : undefined,
    cause: cause === undefined || depth === 0 ? undefined : describeError(cause, withStack, depth - 1),
    errors: innerErrors(error)?.map((each) =>
      depth === 0 ? undefined : describeError(each, withStack, depth - 1),
    ),
  }
}

function innerErrors(error: Error): readonly unknown[] | undefined {
  return error instanceof AggregateError ? error.errors : undefined
}
