import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Authenticator, Rejection, Verdict } from '../contracts/authenticator.js'
import type { Challenge } from '../contracts/challenge.js'
import type { Guard } from '../contracts/guard.js'
import { isPromise, within } from '../deadline.js'
import { GatewayError, Refusal, type RefusalReason } from '../errors.js'
import { credentialsOf } from './credentials.js'
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
      throw new Refusal(503, 'STARTING', 'the gateway is not open yet', { retryAfter: 1 })
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
      const answer = sure(() => guards[index]?.(request))
      if (isPromise(answer)) {
        return waitFor(keepers, answer).then(() => this.guard(keepers, request, isPublic, index + 1))
      }
    }
    if (isPublic || (keepers.publicPaths.any && keepers.publicPaths.cover(request))) return undefined
    request.credentials = credentialsOf(request.raw)
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
      const verdict = sure(() => authenticator.authenticate(request))
      if (isPromise(verdict)) {
        return waitFor(keepers, verdict).then((late) =>
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

function accepted(
  request: FastifyRequest,
  { provider }: Authenticator,
  verdict: Verdict,
  asked: Asked[],
): boolean {
  if ('identity' in verdict) {
    request.identity = verdict.identity
    return true
  }
  asked.push({ provider, ...verdict.rejection })
  return false
}

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
function sure<T>(ask: () => T): T {
  try {
    return ask()
  } catch (error) {
    throw shut(error)
  }
}

async function waitFor<T>({ deadline }: Keepers, answer: PromiseLike<T>): Promise<T> {
  try {
    return await within(deadline, answer, () => new Error(`no answer within ${deadline / 1000} s`))
  } catch (error) {
    throw shut(error)
  }
}

const shut = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new Refusal(503, 'AUTHENTICATION_UNAVAILABLE', 'the request cannot be checked right now', {
        cause: error,
        retryAfter: 5,
      })

/** The hook that stands first on every route. A callback and not a promise: most requests never wait. */
export function admission(gateOf: (request: FastifyRequest) => Gate) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    const { config } = request.routeOptions
    const enter = (): void => {
      // Only now is the caller told to send its body: one that is refused keeps it.
      if (request.headers.expect !== undefined && config.forwardsExpect !== true) reply.raw.writeContinue()
      done()
    }
    try {
      const waiting = gateOf(request).admit(request, config.public === true)
      if (waiting === undefined) enter()
      else waiting.then(enter, done)
    } catch (error) {
      done(error as Error)
    }
  }
}
