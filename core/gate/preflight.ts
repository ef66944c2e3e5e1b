import type { IncomingMessage } from 'node:http'

const isPreflight = ({ method, headers }: IncomingMessage): boolean =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined

/**
 * Routes for OPTIONS may say `constraints: { preflight: true }`, or `false`: a preflight carries no credentials by design
 * (Fetch, CORS-preflight), and needs routes of its own.
 */
export const preflightConstraint = {
  name: 'preflight',
  storage() {
    const handlers = new Map<unknown, unknown>()
    return {
      get: (value: unknown) => handlers.get(value) ?? null,
      set: (value: unknown, handler: unknown) => void handlers.set(value, handler),
    } as never
  },
  deriveConstraint: isPreflight,
  validate() {},
}
