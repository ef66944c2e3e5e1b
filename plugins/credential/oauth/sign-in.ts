import { type Log, UpstreamError } from 'sallyport'
import { within } from 'sallyport/toolkit'
import type { Login, LoginRequest } from './login.js'
import type { OAuthOptions } from './options.js'
import type { Session, SessionStore } from './session.js'

/** The pause after a failed login: a browser must not open with every request. */
export const PAUSE_AFTER_FAILURE = 3_000
// More logins than this within the window are a loop, and not those of a user.
const LOOP_LOGINS = 12
const LOOP_WINDOW = 300_000

interface Dependencies {
  /** Milliseconds for a whole login. */
  readonly limit: number
  readonly grant: OAuthOptions['grant']
  readonly sessions: SessionStore
  readonly login: Login
  readonly log: Log
}

/** Runs logins within their time limit and logs the result. */
export class SignIn {
  /** How many logins succeeded. */
  count = 0
  private attempts: number[] = []
  // The operator may have restarted this process because of a failure, so older failures do not count.
  private readonly startedAt = performance.now()

  constructor(
    private readonly dependencies: Dependencies,
    private readonly stopping: AbortSignal,
  ) {}

  /** Under the login's lock; `waitingSince` is when this process began to wait for the lock, by `performance.now()`. */
  async run(request: LoginRequest, waitingSince: number): Promise<Session> {
    const { limit: timeout, grant, sessions, login, log } = this.dependencies
    // A new token without a user: a caller whose requests the target refuses must not keep other callers from it.
    const isDue = request.challenge === undefined && grant === 'client_credentials'
    if (!isDue) await this.refuseRepeats(waitingSince)
    log.info('signing in to the target')
    const limit = AbortSignal.timeout(timeout)
    try {
      const session = await login.run(request, AbortSignal.any([limit, this.stopping]), (page) =>
        sessions.showPage(page),
      )
      this.count++
      log.info({ issuer: session.server.issuer }, 'signed in to the target')
      return session
    } catch (error) {
      const failure = limit.aborted ? loginTimeout(timeout) : loginUnavailable(error)
      if (!this.stopping.aborted) await this.reportFailure(failure)
      throw failure
    } finally {
      await sessions.showPage(undefined)
    }
  }

  private async refuseRepeats(waitingSince: number): Promise<void> {
    const now = performance.now()
    const period = Math.max(now - waitingSince, PAUSE_AFTER_FAILURE)
    const failed = await this.dependencies.sessions.failureWithin(Math.min(now - this.startedAt, period))
    if (failed !== undefined) throw failed
    this.attempts = this.attempts.filter((at) => at > performance.now() - LOOP_WINDOW)
    if (this.attempts.length >= LOOP_LOGINS) throw loginLoop()
    this.attempts.push(performance.now())
  }

  private async reportFailure(failure: unknown): Promise<void> {
    const { sessions, log } = this.dependencies
    log.error({ err: failure }, 'signing in to the target failed')
    // When the failure cannot be stored, other processes try to log in as well.
    if (failure instanceof UpstreamError) await sessions.recordFailure(failure).catch(() => {})
  }
}

const loginTimeout = (timeout: number): UpstreamError =>
  new UpstreamError('LOGIN_TIMEOUT', `the sign-in to the target did not finish within ${timeout / 1000} s`, {
    statusCode: 503,
    retryAfter: 5,
  })

/**
 * Waits for a login, but not as long as a user may take: the login continues, and the next request uses its session.
 */
export async function waitForLogin(
  login: Promise<void>,
  { timeout, tellsCallers }: OAuthOptions,
  sessions: SessionStore,
): Promise<void> {
  const late = new Error('the login takes longer')
  try {
    await within(timeout, login, () => late)
  } catch (error) {
    throw error === late ? loginPending(timeout, tellsCallers ? await sessions.page() : undefined) : error
  }
}

function loginPending(timeout: number, page: string | undefined): UpstreamError {
  const waited = `the sign-in to the target did not finish within ${timeout / 1000} s (--remote-auth-timeout)`
  const where = page ?? 'the page that the gateway has opened in a browser, or printed,'
  const message = `${waited}: sign in at ${where} and try again`
  return new UpstreamError('LOGIN_TIMEOUT', message, { statusCode: 503, retryAfter: 5 })
}

const loginLoop = (): UpstreamError =>
  new UpstreamError('LOGIN_LOOP', 'the target refuses the tokens of too many new logins', {
    statusCode: 503,
    retryAfter: 60,
  })

/** A failed connection may work the next time. Only the log names the host that was not reached. */
export function loginUnavailable(cause: unknown): unknown {
  if (!(cause instanceof UpstreamError) || !cause.code.startsWith('EGRESS_')) return cause
  const message = 'the authorization server of the target was not reached'
  return new UpstreamError('LOGIN_UNAVAILABLE', message, { statusCode: 503, retryAfter: 5, cause })
}
