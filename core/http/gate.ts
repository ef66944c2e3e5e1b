import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Authenticator, Rejection, Verdict } from '../contracts/authenticator.js'
import type { Challenge } from '../contracts/challenge.js'
import type { Guard } from '../contracts/guard.js'
import type { Identity } from '../contracts/identity.js'
import { isPromise, within } from '../deadline.js'
import { GatewayError, Refusal, type RefusalReason } from '../errors.js'
import { BODY_DEADLINE, limitBody } from './body-limit.js'
import { credentialsFor } from './credentials.js'
import type { PublicPaths } from './public-paths.js'

/** What stands at the gate of one scope, once its list is complete. */
export interface Keepers {
  readonly guards: readonly Guard[]
  readonly authenticators: readonly Authenticator[]
  readonly publicPaths: PublicPaths
  readonly challenge: Challenge | undefined
  /** Milliseconds that a guard or an authenticator may take. */
  readonly deadline: number
}

interface Asked extends RefusalReason {
  readonly kind: Rejection['kind']
}

/** The first door of a scope: guards, then authentication, on every route that does not say it is public. */
export class Gate {
  private keepers: Keepers | undefined

  /** Until then the gate is shut. */
  open(keepers: Keepers): void {
    this.keepers = keepers
  }

  get challenge(): Challenge | undefined {
    return this.keepers?.challenge
  }

  /** Returns at once unless somebody at the gate has to wait; throws what keeps the request out. */
  admit(request: FastifyRequest, isPublic: boolean): Promise<void> | undefined {
    const { keepers } = this
    if (keepers === undefined)
      throw new Refusal(503, 'STARTING', 'the gateway is not open', { retryAfter: 1 })
    return this.guard(keepers, request, isPublic, 0)
  }

  private guard(
    keepers: Keepers,
    request: FastifyRequest,
    isPublic: boolean,
    from: number,
  ): Promise<void> | undefined {
    const { guards } = keepers
    for (let index = from; index < guards.length; index++) {
      const answer = guards[index]?.(request)
      if (isPromise(answer)) {
        return waitFor(keepers, answer, 'a guard').then(() =>
          this.guard(keepers, request, isPublic, index + 1),
        )
      }
    }
    if (isPublic || (keepers.publicPaths.any && keepers.publicPaths.cover(request))) return undefined
    request.credentials = credentialsFor(request.raw)
    return this.authenticate(keepers, request, 0, [])
  }

  private authenticate(
    keepers: Keepers,
    request: FastifyRequest,
    from: number,
    asked: Asked[],
  ): Promise<void> | undefined {
    for (let index = from; index < keepers.authenticators.length; index++) {
      const authenticator = keepers.authenticators[index]
      if (authenticator === undefined) continue
      const verdict = authenticator.authenticate(request)
      if (isPromise(verdict)) {
        return waitFor(keepers, verdict, `"${authenticator.provider}"`).then((late) =>
          accepted(request, authenticator, late, asked)
            ? undefined
            : this.authenticate(keepers, request, index + 1, asked),
        )
      }
      if (accepted(request, authenticator, verdict, asked)) return undefined
    }
    throw refusalFor(request, asked, keepers.challenge?.unavailableStatus ?? 401)
  }
}

const waitFor = <T>({ deadline }: Keepers, answer: PromiseLike<T>, who: string): Promise<T> =>
  within(deadline, answer, () => new Error(`${who} did not answer within ${deadline / 1000} s`))

/** Only a verdict that names somebody and rejects nothing lets a request in; one that is neither is a fault. */
function accepted(
  request: FastifyRequest,
  { provider }: Authenticator,
  verdict: Verdict,
  asked: Asked[],
): boolean {
  const { identity, rejection }: { identity?: unknown; rejection?: unknown } = isObject(verdict)
    ? verdict
    : {}
  if (namesSomebody(identity) && rejection === undefined) {
    request.identity = identity
    return true
  }
  if (!isObject(rejection) || (identity !== undefined && identity !== null)) {
    throw new TypeError(`the verdict of "${provider}" is neither an identity with a subject nor a rejection`)
  }
  asked.push({ provider, ...(verdict as { rejection: Rejection }).rejection })
  return false
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const namesSomebody = (value: unknown): value is Identity =>
  isObject(value) && typeof (value as Partial<Identity>).subject === 'string'

function refusalFor({ credentials }: FastifyRequest, asked: Asked[], unavailableStatus: 401 | 503): Refusal {
  const reasons = asked.map(({ provider, cause, detail }) => ({
    provider,
    cause,
    ...(detail !== undefined && { detail }),
  }))
  if (credentials.kind === 'none')
    return new Refusal(401, 'UNAUTHORIZED', 'this needs a bearer token', { reasons })
  if (credentials.kind === 'malformed') {
    return new Refusal(
      401,
      'INVALID_REQUEST',
      'the Authorization header is not one well-formed bearer token',
      { reasons: [...reasons, { provider: 'none', cause: 'format' }] },
    )
  }
  const undecided =
    asked.some(({ kind }) => kind === 'unavailable') && asked.every(({ kind }) => kind !== 'invalid')
  if (undecided && unavailableStatus === 503) {
    return new Refusal(503, 'AUTHENTICATION_UNAVAILABLE', 'the token cannot be checked right now', {
      reasons,
      retryAfter: 5,
    })
  }
  return new Refusal(401, 'INVALID_TOKEN', 'the token was not accepted', { reasons })
}

/** What is thrown on purpose passes; anything else is a fault of ours and keeps the request out all the same. */
const shut = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new Refusal(503, 'AUTHENTICATION_UNAVAILABLE', 'the request cannot be checked right now', {
        cause: error,
        retryAfter: 5,
      })

/** Answers a request that may not enter, in place of its route. */
export type TurnAway = (refusal: GatewayError, request: FastifyRequest, reply: FastifyReply) => void

/**
 * The hook that stands first on every route. A callback and not a promise: most requests never wait. Who is
 * turned away is answered here, since an error handler of the route could make something else of it.
 */
export function admission(
  gateOf: (request: FastifyRequest) => Gate,
  turnAway: TurnAway,
  bodyDeadline = BODY_DEADLINE,
) {
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { config } = request.routeOptions
    const enter = (): void => {
      if (config.forwardsExpect !== true) {
        reply.header('x-request-id', request.id)
        letSend(request, reply)
        limitBody(request, reply, bodyDeadline, (refusal) => turnAway(refusal, request, reply))
      }
      done()
    }
    let waiting: Promise<void> | undefined
    try {
      waiting = gateOf(request).admit(request, config.public === true)
    } catch (error) {
      turnAway(shut(error), request, reply)
      return
    }
    if (waiting === undefined) enter()
    else waiting.then(enter, (error: unknown) => turnAway(shut(error), request, reply))
  }
}

/** Only now is the caller told to send its body: one that is refused keeps it. HTTP/1.0 knows no such word. */
function letSend({ headers, raw }: FastifyRequest, reply: FastifyReply): void {
  if (headers.expect !== undefined && raw.httpVersionMinor > 0) reply.raw.writeContinue()
}
