import type { FastifyRequest } from 'fastify'
import type { Authenticator } from '../contract/capabilities/authenticator.js'
import type { LimitKey } from '../contract/capabilities/limiter.js'
import { isDispatched } from './dispatched-request.js'

/** Whom a request counts for, found out when the limiter asks. */
export class RequestKey implements LimitKey {
  constructor(
    private readonly request: FastifyRequest,
    private readonly kind: 'known' | 'anybody' | 'refused',
  ) {}

  get caller(): string | undefined {
    const { request, kind } = this
    const { identity } = request
    if (kind === 'refused') return undefined
    if (kind === 'anybody' || identity === undefined) return this.address
    // As JSON, so that no provider and subject read like another provider and subject, or like an address.
    return JSON.stringify([identity.provider, identity.subject])
  }

  // All that plugins dispatch, for whichever client, would have one address.
  get address(): string | undefined {
    return isDispatched(this.request) ? undefined : this.request.clientAddress
  }
}

/** Those that let anybody in: nobody proves to be one caller. */
export const openProviders = (authenticators: readonly Authenticator[]): ReadonlySet<string> =>
  new Set(authenticators.filter(({ open }) => open === true).map(({ provider }) => provider))

/** Of a request that was let in. */
export const keyOf = (request: FastifyRequest, open: ReadonlySet<string>): LimitKey =>
  new RequestKey(request, open.has(request.identity?.provider ?? '') ? 'anybody' : 'known')
