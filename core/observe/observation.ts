import type { FastifyInstance, FastifyRequest } from 'fastify'
import { setCallObserver } from '../mcp/call-observer.js'
import type { ObservedRequest } from './observed-request.js'

const OBSERVED = Symbol('observed')

declare module 'fastify' {
  interface FastifyRequest {
    [OBSERVED]: ObservedRequest | undefined
  }
}

/** Has all requests of an application begin with a place for it. */
export function decorateObserved(app: FastifyInstance): void {
  app.decorateRequest(OBSERVED, undefined)
}

/** What is known of a request for observers; `undefined` when nobody observes it. */
export const observationOf = (request: FastifyRequest): ObservedRequest | undefined => request[OBSERVED]

export function observe(observed: ObservedRequest): void {
  const { request } = observed.reply
  request[OBSERVED] = observed
  setCallObserver(request, observed)
}

/** Runs a part of a request that may take time of its own, for its trace. */
export function timed<T>(request: FastifyRequest, name: string, run: () => T): T {
  const observed = request[OBSERVED]
  return observed === undefined ? run() : observed.time(name, run)
}
