import { type HealthState, type Held, type Log, type Scrubber, UpstreamError } from 'sallyport'
import type { Challenge } from './challenge.js'
import type { Login } from './login.js'
import type { OAuthOptions } from './options.js'
import type { Session, SessionShelf } from './session.js'
import type { TokenEndpoint } from './token-endpoint.js'

interface Surroundings {
  readonly options: OAuthOptions
  readonly shelf: SessionShelf
  readonly login: Login
  readonly endpointOf: (session: Session) => TokenEndpoint
  readonly log: Log
  readonly scrubber: Scrubber
}

// How long before its end a token is renewed at the latest, and how long before it requests wait for that.
const AHEAD = 60_000
const TOO_LATE = 5_000
const REST_AFTER_FAILURE = 3_000
const LONGEST_PAUSE = 60_000
// More logins than this in so little time are no person's doing.
const LOOP_LOGINS = 12
const LOOP_WINDOW = 300_000

/** What the issuer says when only another login helps. */
const ENDED = new Set(['OAUTH_INVALID_GRANT', 'OAUTH_INVALID_CLIENT', 'OAUTH_UNAUTHORIZED_CLIENT'])

/** The login as this process has it: given out while it is good, renewed before it ends, and begun anew when lost. */
export class Keeper {
  private session: Session | undefined
  private held: Held | undefined
  private goodUntil = 0
  private flight: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined
  private failures = 0
  private trouble: { readonly error: unknown; readonly until: number } | undefined
  private forgetNewer: readonly (() => void)[] = []
  private forgetOlder: readonly (() => void)[] = []
  private begun: number[] = []
  private readonly ending = new AbortController()

  constructor(private readonly surroundings: Surroundings) {}

  /** The credential, when it is at hand and good for a while. */
  get current(): Held | undefined {
    return Date.now() < this.goodUntil ? this.held : undefined
  }

  get hasSession(): boolean {
    return this.session !== undefined
  }

  get mayRefresh(): boolean {
    return this.session?.tokens.refreshToken !== undefined
  }

  health(): HealthState {
    const reason = this.trouble?.error
    return reason instanceof Error ? { status: 'degraded', reason: reason.message } : { status: 'ok' }
  }

  /** Takes up the login that was kept, if there is one. */
  async resume(): Promise<boolean> {
    const kept = await this.surroundings.shelf.read()
    if (kept !== undefined) this.adopt(kept)
    return kept !== undefined
  }

  /** The credential, after whatever it takes to have one. */
  async fresh(): Promise<Held | undefined> {
    if (this.current === undefined) await this.together(() => this.renewed(undefined, undefined))
    return this.held
  }

  /** A credential other than this refused token: refreshed, or by a new login. */
  async replace(refused: string, challenge: Challenge): Promise<void> {
    await this.together(() => this.renewed(refused, challenge))
  }

  /** A credential of a new login, for a target that wants one from elsewhere or with more scopes. */
  async again(refused: string | undefined, challenge: Challenge): Promise<void> {
    const { shelf } = this.surroundings
    await this.together(() =>
      shelf.locked(async () => {
        if (!(await this.overtaken(refused))) await this.logIn(challenge)
      }),
    )
  }

  stop(): void {
    clearTimeout(this.timer)
    this.ending.abort(new UpstreamError('LOGIN_STOPPED', 'the gateway stops', { statusCode: 503 }))
  }

  /** One at a time: whoever comes while something is under way gets what comes of it. */
  private async together(work: () => Promise<void>): Promise<void> {
    if (this.trouble !== undefined && Date.now() < this.trouble.until) throw this.trouble.error
    this.flight ??= work()
      .then(
        () => {
          this.trouble = undefined
        },
        (error: unknown) => {
          // A browser that opens again with every request would be no help to anybody.
          this.trouble = { error, until: Date.now() + REST_AFTER_FAILURE }
          throw error
        },
      )
      .finally(() => {
        this.flight = undefined
      })
    await this.flight
  }

  /** Under the lock of this login, so that one process refreshes or asks a person, and the others take what it got. */
  private renewed(refused: string | undefined, challenge: Challenge | undefined): Promise<void> {
    return this.surroundings.shelf.locked(async () => {
      if (await this.overtaken(refused)) return
      const { session } = this
      if (session?.tokens.refreshToken !== undefined && (await this.refresh(session, refused))) return
      await this.logIn(challenge)
    })
  }

  /** Whether another process has put a better token there than the one that is no good. */
  private async overtaken(refused: string | undefined): Promise<boolean> {
    const kept = await this.surroundings.shelf.read()
    if (kept === undefined) return false
    const known = this.session?.tokens.accessToken
    const isNew = kept.tokens.accessToken !== known
    if (isNew) this.adopt(kept)
    return (
      kept.tokens.accessToken !== refused && this.current !== undefined && (isNew || refused !== undefined)
    )
  }

  /** `false` when only a login helps. Any other failure leaves everything as it was. */
  private async refresh(session: Session, refused: string | undefined): Promise<boolean> {
    const { endpointOf, log, login } = this.surroundings
    const { refreshToken = '' } = session.tokens
    try {
      const tokens = await endpointOf(session).refresh(refreshToken)
      const { idToken } = session.tokens
      const merged = { refreshToken, ...(idToken !== undefined && { idToken }), ...tokens }
      await this.keep({ ...session, tokens: merged, obtainedAt: Date.now() })
      return true
    } catch (error) {
      const code = error instanceof UpstreamError ? error.code : ''
      if (ENDED.has(code)) {
        log.info({ issuer: session.server.issuer, code }, 'the login has ended; a new one is needed')
        if (code !== 'OAUTH_INVALID_GRANT') await login.forget(session.client)
        const { refreshToken: _, ...rest } = session.tokens
        await this.keep({ ...session, tokens: rest })
        return false
      }
      log.warn({ err: error }, 'the token could not be refreshed; the one before is used while it lasts')
      const { expiresAt = Number.POSITIVE_INFINITY } = session.tokens
      if (refused !== undefined || Date.now() >= expiresAt) throw unavailable(error)
      this.goodUntil = Math.min(expiresAt, Date.now() + REST_AFTER_FAILURE)
      return true
    }
  }

  private async logIn(challenge: Challenge | undefined): Promise<void> {
    const { options, log, login } = this.surroundings
    this.begun = this.begun.filter((at) => at > Date.now() - LOOP_WINDOW)
    if (this.begun.length >= LOOP_LOGINS) throw looping()
    this.begun.push(Date.now())
    log.info('signing in to the target')
    const limit = AbortSignal.timeout(options.timeout)
    const signal = AbortSignal.any([limit, this.ending.signal])
    try {
      await this.keep(await login.run({ challenge, previous: this.session }, signal))
      log.info({ issuer: this.session?.server.issuer }, 'signed in to the target')
    } catch (error) {
      const failure = limit.aborted ? lateLogin(options.timeout) : unavailable(error)
      if (!this.ending.signal.aborted) log.error({ err: failure }, 'signing in to the target failed')
      throw failure
    }
  }

  /** Kept first and used then: a refresh token that was used and not kept is lost with the process. */
  private async keep(session: Session): Promise<void> {
    const { shelf, log } = this.surroundings
    try {
      await shelf.write(session)
    } catch (error) {
      log.error({ err: error }, 'the login could not be kept: it lasts as long as this process')
    }
    this.adopt(session)
  }

  private adopt(session: Session): void {
    const { accessToken, refreshToken, idToken, expiresAt } = session.tokens
    this.learn([accessToken, refreshToken, idToken])
    this.session = session
    this.held = {
      header: 'authorization',
      value: `Bearer ${accessToken}`,
      accessToken,
      ...(idToken !== undefined && { idToken }),
      ...(expiresAt !== undefined && { expiresAt: Math.floor(expiresAt / 1000) }),
    }
    const life = expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - session.obtainedAt
    this.goodUntil = (expiresAt ?? Number.POSITIVE_INFINITY) - Math.min(TOO_LATE, life / 4)
    this.failures = 0
    this.schedule()
  }

  /** The tokens before these may still be in flight, those before them are not. */
  private learn(tokens: readonly (string | undefined)[]): void {
    const { scrubber } = this.surroundings
    for (const forget of this.forgetOlder) forget()
    this.forgetOlder = this.forgetNewer
    this.forgetNewer = tokens.filter((token) => token !== undefined).map((token) => scrubber.add(token))
  }

  /** Renews while nobody waits, as long as that needs no person. */
  private schedule(): void {
    clearTimeout(this.timer)
    const { session } = this
    if (session?.tokens.expiresAt === undefined || session.tokens.refreshToken === undefined) return
    const { expiresAt } = session.tokens
    const life = expiresAt - session.obtainedAt
    // Not all processes at once: most find that another has done it.
    const due = expiresAt - Math.min(AHEAD, life / 2) * (0.9 + Math.random() / 5) - Date.now()
    const pause = this.failures === 0 ? due : Math.min(1000 * 2 ** this.failures, LONGEST_PAUSE)
    this.timer = setTimeout(() => void this.ahead(session), Math.min(Math.max(pause, 0), 2 ** 31 - 1)).unref()
  }

  private async ahead(session: Session): Promise<void> {
    if (this.flight !== undefined || this.session !== session) return
    const { shelf } = this.surroundings
    await this.together(() =>
      shelf.locked(async () => {
        const kept = await shelf.read()
        if (kept !== undefined && kept.tokens.accessToken !== session.tokens.accessToken) this.adopt(kept)
        else await this.refresh(session, undefined)
      }),
    ).catch(() => {})
    if (this.session === session) {
      this.failures++
      this.schedule()
    }
  }
}

const lateLogin = (timeout: number): UpstreamError =>
  new UpstreamError('LOGIN_TIMEOUT', `nobody signed in to the target within ${timeout / 1000} s`, {
    statusCode: 503,
    retryAfter: 5,
  })

const looping = (): UpstreamError =>
  new UpstreamError('LOGIN_LOOP', 'the target accepts the tokens of none of many new logins', {
    statusCode: 503,
    retryAfter: 60,
  })

/** What only failed on the way may work the next time. Who was not reached is for the log. */
function unavailable(cause: unknown): unknown {
  if (!(cause instanceof UpstreamError) || !cause.code.startsWith('EGRESS_')) return cause
  const detail = { statusCode: 503, retryAfter: 5, cause } as const
  return new UpstreamError(
    'LOGIN_UNAVAILABLE',
    'who gives credentials for the target was not reached',
    detail,
  )
}
