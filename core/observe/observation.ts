import type { FastifyInstance, FastifyRequest } from 'fastify'
import { setCallObserver } from '../mcp/call-observer.js'
import type { ObservedRequest } from './observed-request.js'

const OBSERVED = Symbol('observed')

declare module 'fastify' {
  interface FastifyRequest {
    [OBSERVED]: ObservedRequest | undefined
  }
}

export function decorateObserved(app: FastifyInstance): void {
  app.decorateRequest(OBSERVED, undefined)
}

/** The record of a request for observers; `undefined` if the list has no observer for it. */
export const observationOf = (request: FastifyRequest): ObservedRequest | undefined => request[OBSERVED]

export function observe(observed: ObservedRequest): void {
  const { request } = observed.reply
  request[OBSERVED] = observed
  setCallObserver(request, observed)
}

/** Runs a step of a request as a part of its trace, which shows the time that the step takes. */
export function timed<T>(request: FastifyRequest, name: string, run: () => T): T {
  const observed = request[OBSERVED]
  return observed === undefined ? run() : observed.time(name, run)
}
