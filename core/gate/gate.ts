import { setImmediate } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Authenticator, Rejection, Verdict } from '../contract/capabilities/authenticator.js'
import type { BrowserSession } from '../contract/capabilities/browser-session.js'
import type { Challenge } from '../contract/capabilities/challenge.js'
import type { Guard } from '../contract/capabilities/guard.js'
import type { Revocation } from '../contract/capabilities/revocation.js'
import { BearerToken, type Credentials } from '../contract/credentials.js'
import { GatewayError, Refusal } from '../contract/errors.js'
import type { Identity } from '../contract/identity.js'
import { askForBody, BODY_DEADLINE, isBodyPending, limitBody, rememberResponse } from '../http/body.js'
import { type CountedResponse, holdHead } from '../http/counted-response.js'
import { observationOf } from '../observe/observation.js'
import { isPromise, within } from '../toolkit/deadline.js'
import { type AuthenticatorRejection, refusalFor } from './authentication-refusal.js'
import type { CallChecks } from './call-checks.js'
import { credentialsFor } from './credentials.js'
import { checkHost } from './host-check.js'
import type { RequestLimit } from './limit.js'
import type { PublicPaths } from './public-paths.js'
import { refuseRevoked } from './revoked.js'

/** The checks at the gate of one scope, once its list is complete. */
export interface GateChecks {
  readonly guards: readonly Guard[]
  readonly guardPlugins: GuardPlugins
  readonly authenticators: readonly Authenticator[]
  readonly revocation: Revocation | undefined
  readonly sessions: readonly BrowserSession[]
  readonly publicPaths: PublicPaths
  readonly challenge: Challenge | undefined
  readonly limit: RequestLimit | undefined
  /** Judges and counts the calls of requests to an MCP server. */
  readonly calls: CallChecks | undefined
  /** Milliseconds that a guard or an authenticator may take. */
  readonly deadline: number
}

/**
 * Admits requests to the routes of one scope: guards first, then authentication unless the route is public, then
 * limits, and policies for the calls of an MCP server.
 */
export class Gate {
  private checks: GateChecks | undefined

  /** The gate refuses every request until this is called. */
  open(checks: GateChecks): void {
    this.checks = checks
  }

  private get opened(): GateChecks {
    if (this.checks !== undefined) return this.checks
    throw new Refusal(503, 'STARTING', 'the gateway is still starting', { retryAfter: 1 })
  }

  /** Whether the gate reads the calls in bodies of requests to an MCP server. */
  get readsCalls(): boolean {
    return this.checks?.calls !== undefined
  }

  get challenge(): Challenge | undefined {
    return this.checks?.challenge
  }

  /** Returns a promise only if a check returns one; throws or rejects with the refusal. */
  admit(request: FastifyRequest, isPublic: boolean, isMcp: boolean): Promise<void> | undefined {
    const checks = this.opened
    const { limit, calls } = checks
    checkHost(request)
    const admitted =
      limit === undefined
        ? this.guard(checks, request, isPublic, 0)
        : limit.apply(request, () => this.guard(checks, request, isPublic, 0))
    if (calls === undefined || !isMcp) return admitted
    return admitted === undefined ? calls.admit(request) : admitted.then(() => calls.admit(request))
  }

  private guard(
    checks: GateChecks,
    request: FastifyRequest,
    isPublic: boolean,
    from: number,
  ): Promise<void> | undefined {
    const { guards } = checks
    for (let index = from; index < guards.length; index++) {
      const guard = guards[index]
      if (guard === undefined) continue
      const waiting = askGuard(guard, request, checks.deadline, checks.guardPlugins)
      if (waiting !== undefined) return waiting.then(() => this.guard(checks, request, isPublic, index + 1))
    }
    const isOpen = isPublic || (checks.publicPaths.any && checks.publicPaths.covers(request))
    request.isOpen = isOpen
    if (checks.sessions.length > 0 && mayUseSession(request))
      return this.authenticateSession(checks, request, isOpen)
    if (isOpen) return undefined
    request.credentials = credentialsFor(request.raw)
    const observed = observationOf(request)
    if (observed === undefined) return this.authenticate(checks, request, 0, [])
    return observed.time('verification', () => this.authenticate(checks, request, 0, []))
  }

  /** A public route admits every request: a session only adds its identity there. */
  private async authenticateSession(
    checks: GateChecks,
    request: FastifyRequest,
    isOpen: boolean,
  ): Promise<void> {
    try {
      request.credentials = await waitFor(checks, sessionToken(checks.sessions, request), 'a session')
      if (isOpen && request.credentials.kind === 'none') return
      await this.authenticate(checks, request, 0, [])
    } catch (error) {
      if (!isOpen) throw error
    }
  }

  /**
   * The identity that the authenticators find for these credentials, also on a public route; rejects with the refusal.
   */
  async identify(request: FastifyRequest, credentials: Credentials): Promise<Identity> {
    const checks = this.opened
    request.credentials = credentials
    request.identity = undefined
    try {
      await this.authenticate(checks, request, 0, [])
    } catch (error) {
      throw asRefusal(error)
    }
    const { identity }: { identity?: Identity | undefined } = request
    if (identity === undefined) throw new Error('no authenticator has decided about the credentials')
    return identity
  }

  private authenticate(
    checks: GateChecks,
    request: FastifyRequest,
    from: number,
    rejections: AuthenticatorRejection[],
  ): Promise<void> | undefined {
    for (let index = from; index < checks.authenticators.length; index++) {
      const authenticator = checks.authenticators[index]
      if (authenticator === undefined) continue
      const verdict = authenticator.authenticate(request)
      if (isPromise(verdict)) {
        return waitFor(checks, verdict, `"${authenticator.provider}"`).then((late) =>
          accepted(checks, request, authenticator, late, rejections)
            ? undefined
            : this.authenticate(checks, request, index + 1, rejections),
        )
      }
      if (accepted(checks, request, authenticator, verdict, rejections)) return undefined
    }
    throw refusalFor(request, rejections, checks.challenge?.unavailableStatus ?? 401)
  }
}

const waitFor = <T>({ deadline }: GateChecks, result: PromiseLike<T>, name: string): Promise<T> =>
  within(deadline, result, () => new Error(`${name} did not answer within ${deadline / 1000} s`))

/** Only a verdict with an identity and no rejection admits a request; a verdict that is neither is an error. */
function accepted(
  { revocation }: GateChecks,
  request: FastifyRequest,
  { provider }: Authenticator,
  verdict: Verdict,
  rejections: AuthenticatorRejection[],
): boolean {
  const { identity, rejection }: { identity?: unknown; rejection?: unknown } = isObject(verdict)
    ? verdict
    : {}
  if (isIdentity(identity) && rejection === undefined) {
    if (revocation !== undefined) refuseRevoked(revocation, request, identity, provider)
    request.identity = identity
    return true
  }
  if (!isObject(rejection) || (identity !== undefined && identity !== null)) {
    throw new TypeError(`the verdict of "${provider}" is neither an identity with a subject nor a rejection`)
  }
  rejections.push({ provider, ...(verdict as { rejection: Rejection }).rejection })
  return false
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const isIdentity = (value: unknown): value is Identity =>
  isObject(value) && typeof (value as Partial<Identity>).subject === 'string'

/** A `GatewayError` was thrown on purpose. Any other error is a fault of a plugin, and refuses the request too. */
const asRefusal = (error: unknown): GatewayError =>
  error instanceof GatewayError
    ? error
    : new Refusal(503, 'AUTHENTICATION_UNAVAILABLE', 'the request cannot be checked right now', {
        cause: error,
        retryAfter: 5,
      })

/** The responses that the gateway sends instead of a route's own. */
export interface GateReplies {
  /** Sends the error reply to a refused request. */
  error(refusal: GatewayError, request: FastifyRequest, reply: FastifyReply): void
  /** Replaces a response that the route has begun without the passage. */
  withoutPassage(request: FastifyRequest, reply: FastifyReply, response: CountedResponse): void
}

/** A request at the gate of its route. */
interface GateRequest {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly config: FastifyRequest['routeOptions']['config']
  readonly gate: Gate
  /** Whether the response has to take the passage, since policies, limits or audits read the calls of an MCP server. */
  readonly needsPassage: boolean
}

/**
 * The first hook of every route. Uses a callback, since most requests never wait for a promise. It sends the response
 * to a refused request itself: the route's error handler could turn the refusal into another response.
 */
export function admission(replies: GateReplies, bodyDeadline = BODY_DEADLINE) {
  return ({ request, reply, config, gate, needsPassage }: GateRequest, done: () => void): void => {
    const reject = (refusal: GatewayError): void => replies.error(refusal, request, reply)
    const proceed = (): void => {
      if (needsPassage) holdHead(reply.raw, (response) => replies.withoutPassage(request, reply, response))
      if (config.forwardsExpect !== true) {
        reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
        // Only after admission, so that a refused caller sends no body.
        askForBody(request, reply.raw)
        limitBody(request, reply, bodyDeadline, reject)
      }
      done()
    }
    if (request.headers.expect !== undefined || config.mcp === true) rememberResponse(request, reply.raw)
    const refuse = (error: unknown): Promise<void> | undefined => {
      const refusal = asRefusal(error)
      // On the next tick Node has parsed a body that arrived with its head, and the connection need not end.
      if (isBodyPending(request.raw)) return setImmediate().then(() => reject(refusal))
      reject(refusal)
      return undefined
    }
    /** Observers see the decision only after it is made. */
    const trackDecision = (decided: Promise<void> | undefined): void => {
      const observed = observationOf(request)
      if (decided === undefined || observed === undefined) return
      observed.admission = decided.finally(() => {
        observed.admission = undefined
      })
    }
    const admit = (): void => {
      let waiting: Promise<void> | undefined
      try {
        waiting = gate.admit(request, config.public === true, config.mcp === true)
      } catch (error) {
        trackDecision(refuse(error))
        return
      }
      if (waiting === undefined) proceed()
      else trackDecision(waiting.then(proceed, refuse))
    }
    // A small body mostly arrives with its head: on the next tick it can be read without waiting.
    if (config.mcp === true && gate.readsCalls) process.nextTick(admit)
    else admit()
  }
}

/** The plugin of each guard: the refusal for a failing guard names it, instead of an identity provider. */
type GuardPlugins = Pick<WeakMap<Guard, string>, 'get'>

/**
 * Runs a guard, and waits if it returns a promise. Rethrows a `GatewayError`; any other error is a fault of the plugin.
 */
function askGuard(
  guard: Guard,
  request: FastifyRequest,
  /** Milliseconds that the guard may take. */
  deadline: number,
  plugins: GuardPlugins,
): Promise<unknown> | undefined {
  try {
    const answer: unknown = guard(request)
    if (!isPromise(answer)) return undefined
    const late = (): Error => new Error(`a guard did not answer within ${deadline / 1000} s`)
    return within(deadline, answer, late).catch((error: unknown) => {
      throw failureOf(plugins.get(guard), error)
    })
  } catch (error) {
    throw failureOf(plugins.get(guard), error)
  }
}

function failureOf(plugin = 'guard', cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause
  const reasons = [{ provider: plugin, cause: 'plugin_failed' }]
  const message = 'a plugin failed while it checked this request'
  return new Refusal(503, 'PLUGIN_FAILED', message, { cause, retryAfter: 5, reasons })
}

/** Browsers send cookies with requests of other sites too, so a session admits only methods that change nothing. */
const mayUseSession = ({ method, headers, routeOptions }: FastifyRequest): boolean =>
  routeOptions.config.session === true &&
  (method === 'GET' || method === 'HEAD') &&
  headers.authorization === undefined

/** The token of the first session that the request belongs to. */
async function sessionToken(
  sessions: readonly BrowserSession[],
  request: FastifyRequest,
): Promise<Credentials> {
  for (const session of sessions) {
    const token = await session.token(request)
    if (token !== undefined) return new BearerToken(token)
  }
  return NONE
}

const NONE: Credentials = { kind: 'none' }
