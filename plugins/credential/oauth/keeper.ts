import { type HealthState, type Held, type Log, type Scrubber, UpstreamError } from 'sallyport'
import type { Challenge } from './challenge.js'
import { Holding } from './holding.js'
import type { Login } from './login.js'
import { unavailable } from './login-failures.js'
import type { OAuthOptions } from './options.js'
import { Renewal } from './renewal.js'
import type { Session, SessionShelf } from './session.js'
import { REST_AFTER_FAILURE, SignIn } from './sign-in.js'
import type { TokenEndpoint } from './token-endpoint.js'

interface Surroundings {
  readonly options: OAuthOptions
  readonly shelf: SessionShelf
  readonly login: Login
  readonly endpointOf: (session: Session) => TokenEndpoint
  readonly log: Log
  readonly scrubber: Scrubber
}

/** The login as this process has it: given out while it is good, renewed before it ends, and begun anew when lost. */
export class Keeper {
  private readonly holding: Holding
  private readonly renewal: Renewal
  private readonly signIn: SignIn
  private saving: Promise<unknown> | undefined
  private flight: Promise<void> | undefined
  private timer: NodeJS.Timeout | undefined
  private failures = 0
  private trouble: { readonly error: unknown; readonly until: number } | undefined
  private waitingSince = 0
  private readonly ending = new AbortController()

  constructor(private readonly surroundings: Surroundings) {
    this.holding = new Holding(surroundings.scrubber)
    this.renewal = new Renewal(surroundings)
    const { options, shelf, login, log } = surroundings
    this.signIn = new SignIn({ timeout: options.timeout, shelf, login, log }, this.ending.signal)
  }

  /** The credential, when it is at hand and good for a while. */
  get current(): Held | undefined {
    return this.holding.good
  }

  get hasSession(): boolean {
    return this.holding.session !== undefined
  }

  /** How many logins there were, for whoever wants to know whether there was another. */
  get logins(): number {
    return this.signIn.count
  }

  get mayRefresh(): boolean {
    return this.holding.session?.tokens.refreshToken !== undefined
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
  async fresh(): Promise<Held> {
    // Twice: what was under way already may have ended with nothing that can be used.
    for (const _ of [1, 2]) {
      if (this.current === undefined) await this.together(() => this.renewed(undefined, undefined))
      const { last } = this.holding
      if (last !== undefined) return last
    }
    throw new UpstreamError('LOGIN_NEEDED', 'there is no login to the target', {
      statusCode: 503,
      retryAfter: 5,
    })
  }

  /** A credential other than this refused token: refreshed, or by a new login. */
  async replace(refused: string, challenge: Challenge): Promise<void> {
    await this.instead(refused, () => this.renewed(refused, challenge))
  }

  /** A credential of a new login, for a target that wants one from elsewhere or with more scopes. */
  async again(refused: string | undefined, challenge: Challenge): Promise<void> {
    const { shelf } = this.surroundings
    await this.instead(refused, () =>
      shelf.locked(async () => {
        if (await this.overtaken(refused)) return
        const { session } = this.holding
        // Another process has logged in since, and its token has ended already.
        const isOther = session !== undefined && session.tokens.accessToken !== refused
        if (isOther && session.tokens.refreshToken !== undefined && (await this.refresh(session, refused)))
          return
        await this.logIn(challenge)
      }),
    )
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer)
    this.ending.abort(new UpstreamError('LOGIN_STOPPED', 'the gateway stops', { statusCode: 503 }))
    // A refresh that was sent is waited for, as its answer would be lost.
    await this.saving?.catch(() => {})
  }

  /** What was under way already may be how the refused token came: then it is no answer to the refusal. */
  private async instead(refused: string | undefined, work: () => Promise<void>): Promise<void> {
    for (const _ of [1, 2]) {
      await this.together(work)
      if (refused === undefined || this.holding.session?.tokens.accessToken !== refused) return
    }
  }

  /** One at a time: whoever comes while something is under way gets what comes of it. */
  private async together(work: () => Promise<void>): Promise<void> {
    if (this.trouble !== undefined && Date.now() < this.trouble.until) throw this.trouble.error
    if (this.flight === undefined) this.waitingSince = Date.now()
    this.flight ??= work()
      .then(
        () => {
          this.trouble = undefined
        },
        (error: unknown) => {
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
      const { session } = this.holding
      if (session?.tokens.refreshToken !== undefined && (await this.refresh(session, refused))) return
      await this.logIn(challenge)
    })
  }

  /** Whether another process has put a better token there than the one that is no good. */
  private async overtaken(refused: string | undefined): Promise<boolean> {
    const kept = await this.surroundings.shelf.read()
    if (kept === undefined) return false
    const isNew = this.isNewer(kept)
    if (isNew) this.adopt(kept)
    return (
      kept.tokens.accessToken !== refused && this.current !== undefined && (isNew || refused !== undefined)
    )
  }

  /** By time, since one that could not be kept is still newer than what was. */
  private isNewer({ obtainedAt, tokens }: Session): boolean {
    const { session } = this.holding
    if (session === undefined) return true
    return tokens.accessToken !== session.tokens.accessToken && obtainedAt >= session.obtainedAt
  }

  /** `false` when only a login helps. Any other failure leaves everything as it was. */
  private async refresh(session: Session, refused: string | undefined): Promise<boolean> {
    try {
      const saving = this.refreshed(session)
      this.saving = saving
      return await saving
    } catch (error) {
      const { log } = this.surroundings
      log.warn({ err: error }, 'the token could not be refreshed; the one before is used while it lasts')
      if (refused !== undefined || this.holding.last === undefined) throw unavailable(error)
      this.holding.bear(REST_AFTER_FAILURE)
      return true
    }
  }

  private async refreshed(before: Session): Promise<boolean> {
    const { session, lasts } = await this.renewal.run(before)
    await this.keep(session)
    return lasts
  }

  private async logIn(challenge: Challenge | undefined): Promise<void> {
    const wish = { challenge, previous: this.holding.session }
    await this.keep(await this.signIn.run(wish, this.waitingSince))
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
    this.holding.take(session)
    this.failures = 0
    this.schedule()
  }

  /** Renews while nobody waits, as long as that needs no person. */
  private schedule(): void {
    clearTimeout(this.timer)
    const { session } = this.holding
    const isCutOff = session?.renewing !== undefined && this.failures === 0
    const pause = isCutOff ? 0 : this.holding.pause(this.failures)
    if (session?.tokens.refreshToken === undefined || pause === undefined) return
    this.timer = setTimeout(() => void this.ahead(session), pause).unref()
  }

  private async ahead(session: Session): Promise<void> {
    if (this.flight !== undefined || this.holding.session !== session) return
    const { shelf } = this.surroundings
    await this.together(() =>
      shelf.locked(async () => {
        const kept = await shelf.read()
        if (kept !== undefined && this.isNewer(kept)) this.adopt(kept)
        else await this.refresh(session, undefined)
      }),
    ).catch(() => {})
    if (this.holding.session === session) {
      this.failures++
      this.schedule()
    }
  }
}
