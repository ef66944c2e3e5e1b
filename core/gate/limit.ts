import type { FastifyRequest } from 'fastify'
import type { Authenticator } from '../contract/capabilities/authenticator.js'
import type { Limiter, LimitKey, LimitReached } from '../contract/capabilities/limiter.js'
import { Refusal } from '../contract/errors.js'
import type { McpMessage } from '../contract/message.js'
import { isDispatched } from '../http/dispatched-request.js'
import { readArrivedMessage } from '../mcp/message.js'
import { isPromise, within } from '../toolkit/deadline.js'
import { isJsonObject } from '../toolkit/json-object.js'

/** The caller and address that a request counts for, computed on demand. */
class RequestKey implements LimitKey {
  constructor(
    private readonly request: FastifyRequest,
    private readonly kind: 'identified' | 'open' | 'refused',
  ) {}

  get caller(): string | undefined {
    const { request, kind } = this
    const { identity } = request
    if (kind === 'refused') return undefined
    if (kind === 'open' || identity === undefined) return this.address
    // As JSON, so that each pair of provider and subject has a key of its own, and none equals an address.
    return JSON.stringify([identity.provider, identity.subject])
  }

  // Dispatched requests of all clients would share one address.
  get address(): string | undefined {
    return isDispatched(this.request) ? undefined : this.request.clientAddress
  }
}

/** The providers that admit every request: their identities prove nothing about the caller. */
export const openProviders = (authenticators: readonly Authenticator[]): ReadonlySet<string> =>
  new Set(authenticators.filter(({ open }) => open === true).map(({ provider }) => provider))

/** The key of an admitted request. */
export const requestKeyOf = (request: FastifyRequest, open: ReadonlySet<string>): LimitKey =>
  new RequestKey(request, open.has(request.identity?.provider ?? '') ? 'open' : 'identified')

/** Asks the limiter of a scope about each request at its gate. */
export class RequestLimit {
  private readonly open: ReadonlySet<string>

  constructor(
    private readonly limiter: Limiter,
    authenticators: readonly Authenticator[],
    /** Milliseconds that the limiter may take. */
    private readonly deadline: number,
  ) {
    this.open = openProviders(authenticators)
  }

  /** Counts requests that `admit` admits, or refuses with 401; throws or rejects with the refusal. */
  apply(request: FastifyRequest, admit: () => Promise<void> | undefined): Promise<void> | undefined {
    let waiting: Promise<void> | undefined
    try {
      waiting = admit()
    } catch (error) {
      return this.refused(request, error)
    }
    if (waiting === undefined) return this.take(request, requestKeyOf(request, this.open))
    return waiting.then(
      () => this.take(request, requestKeyOf(request, this.open)),
      (error: unknown) => this.refused(request, error),
    )
  }

  /** Counts the calls in the body of an admitted request; throws or rejects with the refusal. */
  applyToCalls(request: FastifyRequest, message: McpMessage): Promise<void> | undefined {
    const { limiter } = this
    if (limiter.takeCalls === undefined) return undefined
    return this.refuseWhenLimited(request, () =>
      limiter.takeCalls?.(requestKeyOf(request, this.open), message),
    )
  }

  private refused(request: FastifyRequest, error: unknown): Promise<void> {
    const counted = isUnauthorized(error) ? this.take(request, new RequestKey(request, 'refused')) : undefined
    const refuse = (): never => {
      throw error
    }
    return Promise.resolve(counted).then(refuse)
  }

  private take(request: FastifyRequest, key: LimitKey): Promise<void> | undefined {
    return this.refuseWhenLimited(request, () => this.limiter.take(key, 1))
  }

  private refuseWhenLimited(request: FastifyRequest, take: () => unknown): Promise<void> | undefined {
    let wait: unknown
    try {
      wait = take()
    } catch (error) {
      throw unavailable(error)
    }
    if (!isPromise(wait)) {
      refuseIfLimited(request, wait)
      return undefined
    }
    const late = (): Error => new Error(`the limiter did not answer within ${this.deadline / 1000} s`)
    return within(this.deadline, wait, late).then(
      (answer) => refuseIfLimited(request, answer),
      (error: unknown) => {
        throw unavailable(error)
      },
    )
  }
}

const unavailable = (cause: unknown): Refusal =>
  new Refusal(503, 'LIMIT_UNAVAILABLE', 'the request cannot be counted right now', { cause, retryAfter: 5 })

const isUnauthorized = (error: unknown): boolean => error instanceof Refusal && error.statusCode === 401

function refuseIfLimited(request: FastifyRequest, answer: unknown): void {
  if (answer === 0) return
  const { wait, limit }: Partial<Record<keyof LimitReached, unknown>> = isJsonObject(answer)
    ? answer
    : { wait: answer }
  if (typeof wait !== 'number' || !(wait > 0) || (limit !== undefined && typeof limit !== 'string'))
    throw unavailable(new TypeError('the answer of the limiter is neither 0 nor an exceeded limit'))
  if (request.routeOptions.config.mcp === true) readArrivedMessage(request)
  // Rounded up: a caller that waits this long is admitted.
  const retryAfter = Math.ceil(wait / 1000)
  throw new Refusal(429, 'TOO_MANY_REQUESTS', 'the limit of requests for this time is exceeded', {
    retryAfter,
    ...(limit !== undefined && {
      reasons: [{ provider: 'limit', cause: 'too_many_requests', detail: limit }],
    }),
  })
}
