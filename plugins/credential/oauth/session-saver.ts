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
  /** Uses a session: a login, or one that another process has stored meanwhile. */
  readonly adopt: (session: Session) => void
}

/** Stores sessions. One that could not be stored is tried again, since its refresh token is the only valid one. */
export class SessionSaver {
  private unsaved: Session | undefined
  /** What the unsaved session is the successor of. */
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

  /** Takes the session's lock. Nobody has to sign in again because the store is away just then. */
  async saveLogin(session: Session, current: () => Session | undefined): Promise<void> {
    const { sessions, adopt } = this.dependencies
    try {
      await sessions.locked(async () => {
        // Somebody may have refreshed the session that this one replaces.
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
    return current !== this.unsaved || !this.replaced.has(nameOf(stored))
  }

  /** Tries once more, and not for long. */
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
    this.replaced.add(nameOf(previous))
    // Another process may have tried its refresh token too, and stored that it was refused.
    this.replaced.add(previous.tokens.accessToken)
  }

  private schedule(): void {
    clearTimeout(this.timer)
    if (!this.dependencies.stopping.aborted) this.timer = setTimeout(() => void this.retry(), RETRY).unref()
  }

  /** One attempt at a time: another process may have the lock for as long as a refresh takes. */
  private retry(): Promise<void> {
    this.attempt ??= this.dependencies.sessions
      .locked(() => this.store())
      // It is logged already.
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
    if (stored === undefined || this.replaced.has(nameOf(stored))) await sessions.write(session)
    else adopt(stored)
    this.settle()
    log.info('the session is stored')
  }

  private settle(): void {
    this.unsaved = undefined
    this.replaced.clear()
  }
}

// By what can be redeemed once, rather than by the clocks of two machines.
const nameOf = ({ tokens }: Session): string => tokens.refreshToken ?? tokens.accessToken
