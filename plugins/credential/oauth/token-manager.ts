import { type HealthState, type Log, type OutgoingCredential, type Scrubber, UpstreamError } from 'sallyport'
import type { Challenge } from './challenge.js'
import { CurrentToken } from './current-token.js'
import type { Login } from './login.js'
import { loginLimit, type OAuthOptions } from './options.js'
import type { LatestSession, Session, SessionStore } from './session.js'
import { SessionSaver } from './session-saver.js'
import { loginUnavailable, PAUSE_AFTER_FAILURE, SignIn, waitForLogin } from './sign-in.js'
import type { TokenEndpoint } from './token-endpoint.js'
import { OtherProcessRefreshing, TokenRefresh } from './token-refresh.js'

interface Dependencies {
  readonly options: OAuthOptions
  readonly sessions: SessionStore
  readonly latest: LatestSession
  readonly login: Login
  readonly endpointOf: (session: Session) => Promise<TokenEndpoint>
  readonly log: Log
  readonly scrubber: Scrubber
  /** Called when a login is needed, and when there is a session again. */
  readonly loginNeeded: (needed: boolean) => void
}

/**
 * The session of this process: provides its access token, refreshes it before it expires, and logs in again when
 * needed.
 */
export class TokenManager {
  private readonly currentToken: CurrentToken
  private readonly tokenRefresh: TokenRefresh
  private readonly signIn: SignIn
  private readonly saver: SessionSaver
  private pendingRefresh: Promise<unknown> | undefined
  // Separate from logins: a user may take minutes to sign in, and the existing session is refreshed meanwhile.
  private readonly refreshes = new SingleFlight<boolean>(PAUSE_AFTER_FAILURE)
  // Separate as well: a caller whose requests the target refuses must not keep other callers from a login that is due.
  private readonly dueSignIns = new SingleFlight<void>(PAUSE_AFTER_FAILURE)
  private readonly refusedSignIns = new SingleFlight<void>(PAUSE_AFTER_FAILURE)
  private timer: NodeJS.Timeout | undefined
  private failures = 0
  private readonly stopping = new AbortController()

  constructor(private readonly dependencies: Dependencies) {
    this.currentToken = new CurrentToken(dependencies.scrubber)
    const { options, sessions, login, log } = dependencies
    const stopping = this.stopping.signal
    this.tokenRefresh = new TokenRefresh({ ...dependencies, stopping })
    this.signIn = new SignIn(
      { limit: loginLimit(options), grant: options.grant, sessions, login, log },
      stopping,
    )
    this.saver = new SessionSaver({ sessions, log, stopping, adopt: (session) => this.adopt(session) })
  }

  /** The credential, unless there is none or it is about to expire. */
  get current(): OutgoingCredential | undefined {
    return this.currentToken.fresh
  }

  get hasSession(): boolean {
    return this.currentToken.session !== undefined
  }

  /** How many logins there were: a changed number shows another login. */
  get logins(): number {
    return this.signIn.count
  }

  get mayRefresh(): boolean {
    return this.currentToken.session?.tokens.refreshToken !== undefined
  }

  health(): HealthState {
    const reason = this.refreshes.failure ?? this.dueSignIns.failure ?? this.refusedSignIns.failure
    return reason instanceof Error ? { status: 'degraded', reason: reason.message } : { status: 'ok' }
  }

  /** Uses the stored session, if there is one; while the store is away, the session of the list before the reload. */
  async resume(): Promise<boolean> {
    const { sessions, latest } = this.dependencies
    const stored = await sessions.read().catch((error: unknown) => {
      if (latest.session !== undefined) this.adopt(latest.session)
      throw error
    })
    this.adoptIfNewer(stored)
    return stored !== undefined
  }

  /** The credential, after a refresh or a login where it needs one. */
  async obtain(): Promise<OutgoingCredential> {
    // Twice: an attempt that was in progress already may have ended without a usable token.
    for (const _ of [1, 2]) {
      if (this.current === undefined) {
        await this.waitFor(this.refreshOrLogIn(undefined, undefined)).catch((error: unknown) => {
          // Such as when the store is away: the token is used until it expires.
          if (this.currentToken.unexpired === undefined) throw error
        })
      }
      const { unexpired } = this.currentToken
      if (unexpired !== undefined) return unexpired
    }
    throw new UpstreamError('LOGIN_NEEDED', 'there is no login to the target', {
      statusCode: 503,
      retryAfter: 5,
    })
  }

  /** Replaces a token that the target refused: by a refresh, or by a new login. */
  async replace(refused: string, challenge: Challenge): Promise<void> {
    await this.untilReplaced(refused, () => this.refreshOrLogIn(refused, challenge))
  }

  /** Logs in again, for a target that requires a token of another issuer or with more scopes. */
  async logInAgain(refused: string | undefined, challenge: Challenge): Promise<void> {
    await this.untilReplaced(refused, async () => {
      // Another process may have logged in since this one failed.
      if (!(await this.hasBetterToken(refused))) await this.logIn(refused, challenge)
    })
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer)
    this.stopping.abort(new UpstreamError('LOGIN_STOPPED', 'the gateway stops', { statusCode: 503 }))
    // Waits for a refresh that was sent: its response holds the only valid refresh token.
    await this.pendingRefresh?.catch(() => {})
    await this.saver.stop()
  }

  /** An attempt that was in progress already may return the refused token: then this makes a second attempt. */
  private async untilReplaced(refused: string | undefined, work: () => Promise<void>): Promise<void> {
    for (const _ of [1, 2]) {
      await this.waitFor(work())
      if (refused === undefined || this.currentToken.session?.tokens.accessToken !== refused) return
    }
  }

  private async waitFor(work: Promise<void>): Promise<void> {
    const { options, sessions } = this.dependencies
    await waitForLogin(work, options, sessions)
  }

  /** Begins a login only when no refresh helps. */
  private async refreshOrLogIn(refused: string | undefined, challenge: Challenge | undefined): Promise<void> {
    const refreshed = await this.refreshes.run(() =>
      this.tokenRefresh.locked(async () => {
        if (await this.hasBetterToken(refused)) return true
        const { session } = this.currentToken
        return session?.tokens.refreshToken !== undefined && (await this.refresh(session, refused))
      }),
    )
    if (!refreshed) await this.logIn(refused, challenge)
  }

  /** Under the login's lock: one process prompts the user to sign in, and the others adopt its session. */
  private logIn(refused: string | undefined, challenge: Challenge | undefined): Promise<void> {
    const { sessions, loginNeeded } = this.dependencies
    const signIns = challenge === undefined ? this.dueSignIns : this.refusedSignIns
    return signIns.run(() => {
      const waitingSince = performance.now()
      return sessions.lockedLogin(async () => {
        if (await this.tokenRefresh.locked(() => this.wasReplaced(refused))) return
        loginNeeded(true)
        const request = { challenge, previous: this.currentToken.session }
        const session = await this.signIn.run(request, waitingSince)
        await this.saver.saveLogin(session, () => this.currentToken.session)
      })
    })
  }

  /** Whether another process logged in, or the token was refreshed, while this process waited for the lock. */
  private async wasReplaced(refused: string | undefined): Promise<boolean> {
    if (await this.hasBetterToken(refused)) return true
    const { session } = this.currentToken
    if (session === undefined || session.tokens.accessToken === refused) return false
    return session.tokens.refreshToken !== undefined && this.refresh(session, refused)
  }

  /** Whether there is a newer token: of another process, or of a login while this process waited for the lock. */
  private async hasBetterToken(refused: string | undefined): Promise<boolean> {
    this.adoptIfNewer(await this.dependencies.sessions.read())
    return this.current !== undefined && this.currentToken.session?.tokens.accessToken !== refused
  }

  private adoptIfNewer(stored: Session | undefined): void {
    if (stored !== undefined && this.saver.isNewer(stored, this.currentToken.session)) this.adopt(stored)
  }

  /** `false` when a new login is needed. After any other failure the old token is used until it expires. */
  private async refresh(session: Session, refused: string | undefined): Promise<boolean> {
    try {
      const refreshed = this.refreshAndSave(session)
      this.pendingRefresh = refreshed
      return await refreshed
    } catch (error) {
      if (error instanceof OtherProcessRefreshing) throw error
      const { log } = this.dependencies
      log.warn({ err: error }, 'the token could not be refreshed; the old one is used until it expires')
      if (refused !== undefined || this.currentToken.unexpired === undefined) throw loginUnavailable(error)
      this.currentToken.extend(PAUSE_AFTER_FAILURE)
      return true
    }
  }

  /** Stores the session before using it: a refresh token that is not stored is lost with the process. */
  private async refreshAndSave(previous: Session): Promise<boolean> {
    const { session, refreshed } = await this.tokenRefresh.run(previous)
    await this.saver.save(session, this.currentToken.session)
    this.adopt(session)
    return refreshed
  }

  private adopt(session: Session): void {
    this.currentToken.set(session)
    this.dependencies.latest.session = session
    this.dependencies.loginNeeded(false)
    this.failures = 0
    this.dueSignIns.forgetFailure()
    this.refusedSignIns.forgetFailure()
    this.scheduleRefresh()
  }

  /** Refreshes in the background, when that needs no user. */
  private scheduleRefresh(): void {
    clearTimeout(this.timer)
    // `stop` waits for the refresh that was sent, and no other may follow it.
    if (this.stopping.signal.aborted) return
    const { session } = this.currentToken
    const wasInterrupted = session?.renewing !== undefined && this.failures === 0
    const delay = wasInterrupted ? 0 : this.currentToken.refreshDelay(this.failures)
    if (session?.tokens.refreshToken === undefined || delay === undefined) return
    this.timer = setTimeout(() => void this.refreshAhead(session), delay).unref()
  }

  private async refreshAhead(session: Session): Promise<void> {
    const { sessions } = this.dependencies
    const refresh = async (): Promise<boolean> => {
      this.adoptIfNewer(await sessions.read())
      // There may be a new login since this process began to wait for the lock.
      return this.currentToken.session !== session || this.refresh(session, undefined)
    }
    await this.refreshes.run(() => this.tokenRefresh.locked(refresh)).catch(() => {})
    if (this.currentToken.session === session) {
      this.failures++
      this.scheduleRefresh()
    }
  }
}

/** One attempt at a time, shared by all callers. During the pause after a failure, callers get its error. */
class SingleFlight<T> {
  private inProgress: Promise<T> | undefined
  private lastFailure: { readonly error: unknown; readonly until: number } | undefined

  constructor(private readonly pause: number) {}

  /** The error of the last attempt, if it failed. */
  get failure(): unknown {
    return this.lastFailure?.error
  }

  async run(work: () => Promise<T>): Promise<T> {
    const { lastFailure } = this
    if (lastFailure !== undefined && performance.now() < lastFailure.until) throw lastFailure.error
    this.inProgress ??= this.attempt(work)
    return this.inProgress
  }

  /** Called when there is a new session, so that the failed attempt does not matter any more. */
  forgetFailure(): void {
    this.lastFailure = undefined
  }

  private async attempt(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      this.lastFailure = undefined
      return result
    } catch (error) {
      this.lastFailure = { error, until: performance.now() + this.pause }
      throw error
    } finally {
      this.inProgress = undefined
    }
  }
}
