import type { Log } from 'sallyport'
import { within } from 'sallyport/toolkit'
import type { Session, SessionStore } from './session.js'

const RETRY = 500
// How long a stop waits for the last attempt.
const LAST_ATTEMPT = 2_000

interface Dependencies {
  readonly sessions: SessionStore
  readonly log: Log
  readonly stopping: AbortSignal
  /** Starts to use a session: of a login, or of another process that stored it meanwhile. */
  readonly adopt: (session: Session) => void
}

/** Stores sessions. It retries a session that could not be stored, since its refresh token is the only valid one. */
export class SessionSaver {
  private unsaved: Session | undefined
  /** The refresh and access tokens of the sessions that the unsaved session replaces. */
  private readonly replaced = new Set<string>()
  private timer: NodeJS.Timeout | undefined
  private attempt: Promise<void> | undefined

  constructor(private readonly dependencies: Dependencies) {
    dependencies.stopping.addEventListener('abort', () => clearTimeout(this.timer), { once: true })
  }

  /** Under the session's lock. */
  async save(session: Session, previous: Session | undefined): Promise<void> {
    this.replace(previous)
    try {
      await this.dependencies.sessions.write(session)
      this.settle()
    } catch (error) {
      this.keep(session, previous, error)
    }
  }

  /**
   * Takes the session's lock. When the store is away, the session is still used, so the user need not sign in again.
   */
  async saveLogin(session: Session, current: () => Session | undefined): Promise<void> {
    const { sessions, adopt } = this.dependencies
    try {
      await sessions.locked(async () => {
        // Another process may have refreshed the session that this one replaces.
        const stored = await sessions.read()
        if (stored !== undefined && this.isNewer(stored, current())) adopt(stored)
        await this.save(session, current())
        adopt(session)
      })
    } catch (error) {
      this.keep(session, current(), error)
      adopt(session)
    }
  }

  /** A stored session is the newest, except one whose successor could not be stored. */
  isNewer(stored: Session, current: Session | undefined): boolean {
    if (stored.tokens.accessToken === current?.tokens.accessToken) return false
    return current !== this.unsaved || !this.replaced.has(tokenOf(stored))
  }

  /** Tries to store the session once more, for two seconds at most. */
  async stop(): Promise<void> {
    if (this.unsaved === undefined) return
    await within(LAST_ATTEMPT, this.retry(), () => new Error('the store is slow')).catch(() => {})
  }

  private keep(session: Session, previous: Session | undefined, error: unknown): void {
    this.replace(previous)
    this.unsaved = session
    const { log } = this.dependencies
    log.error({ err: error }, 'the session could not be stored: it lasts as long as this process')
    this.schedule()
  }

  private replace(previous: Session | undefined): void {
    if (previous === undefined) return
    this.replaced.add(tokenOf(previous))
    // Another process may have tried the same refresh token, and stored a session without it when the issuer refused
    // it.
    this.replaced.add(previous.tokens.accessToken)
  }

  private schedule(): void {
    clearTimeout(this.timer)
    if (!this.dependencies.stopping.aborted) this.timer = setTimeout(() => void this.retry(), RETRY).unref()
  }

  /** One attempt at a time: another process may hold the lock for as long as a refresh takes. */
  private retry(): Promise<void> {
    this.attempt ??= this.dependencies.sessions
      .locked(() => this.store())
      // `keep` has logged the failure.
      .catch(() => this.schedule())
      .finally(() => {
        this.attempt = undefined
      })
    return this.attempt
  }

  private async store(): Promise<void> {
    const { sessions, log, adopt } = this.dependencies
    const session = this.unsaved
    if (session === undefined) return
    const stored = await sessions.read()
    if (stored === undefined || this.replaced.has(tokenOf(stored))) await sessions.write(session)
    else adopt(stored)
    this.settle()
    log.info('the session is stored')
  }

  private settle(): void {
    this.unsaved = undefined
    this.replaced.clear()
  }
}

// Identifies a session by the token that can be redeemed once, instead of the clocks of two machines.
const tokenOf = ({ tokens }: Session): string => tokens.refreshToken ?? tokens.accessToken
