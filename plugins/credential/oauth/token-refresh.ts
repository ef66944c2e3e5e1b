import { setTimeout as delay } from 'node:timers/promises'
import { type Log, UpstreamError } from 'sallyport'
import { REQUEST_LIMIT } from './egress.js'
import type { Login } from './login.js'
import type { Session, SessionStore } from './session.js'
import type { TokenEndpoint } from './token-endpoint.js'

interface Dependencies {
  readonly sessions: SessionStore
  readonly login: Login
  readonly endpointOf: (session: Session) => Promise<TokenEndpoint>
  readonly log: Log
  readonly stopping: AbortSignal
}

interface RefreshResult {
  readonly session: Session
  /** `false` when a new login is needed. */
  readonly refreshed: boolean
}

// How long this process waits for the refresh of another one: until its request has timed out and its tokens are
// stored.
const OTHER_REFRESH = REQUEST_LIMIT + 1_000
const POLL_INTERVAL = 100
// A store that was away or silent between two checks has delayed the other process too, so no more of the time counts.
const MAX_COUNTED_INTERVAL = 1_000

/** The value of `renewing` when no process refreshes. */
const NO_REFRESH = 0

/** Another process may still get the response to a refresh that it began. */
export class OtherProcessRefreshing extends Error {}

const CLIENT_REFUSED = ['OAUTH_INVALID_CLIENT', 'OAUTH_UNAUTHORIZED_CLIENT']

const LOGIN_ENDED = new Set([
  ...CLIENT_REFUSED,
  'OAUTH_INVALID_GRANT',
  // OpenID Connect, 3.1.2.6: Entra responds to a refresh with these.
  ...['OAUTH_INTERACTION_REQUIRED', 'OAUTH_LOGIN_REQUIRED', 'OAUTH_CONSENT_REQUIRED'],
  // GitHub and Slack.
  ...['OAUTH_BAD_REFRESH_TOKEN', 'OAUTH_INVALID_REFRESH_TOKEN'],
])

/**
 * One refresh, under the session's lock. Many issuers accept a refresh token only once, so the next refresh token is
 * lost when this process ends before storing it. Therefore `renewing` is stored first: the next process then tries the
 * same token at once, while the issuer may still repeat its response.
 */
export class TokenRefresh {
  private marker: number | undefined
  /** The marker of another process, and how long this process has waited for it. */
  private other = { marker: 0, waited: 0, checkedAt: 0 }

  constructor(private readonly dependencies: Dependencies) {}

  /**
   * Runs `work` under the session's lock, and again when it throws `OtherProcessRefreshing`. Between the two the lock
   * is free: the other process lost it with its connection to the store, and needs it to store its new tokens.
   */
  async locked<T>(work: () => Promise<T>): Promise<T> {
    const { sessions, stopping } = this.dependencies
    for (;;) {
      try {
        return await sessions.locked(work)
      } catch (error) {
        if (!(error instanceof OtherProcessRefreshing)) throw error
      }
      await delay(POLL_INTERVAL)
      stopping.throwIfAborted()
    }
  }

  /** Under the lock. Throws when the issuer was not reached or failed; the session is then unchanged. */
  async run(session: Session): Promise<RefreshResult> {
    const { sessions, endpointOf } = this.dependencies
    const { refreshToken = '', idToken } = session.tokens
    const stored = await sessions.read()
    if (stored?.tokens.refreshToken === refreshToken && this.isInProgress(stored))
      throw new OtherProcessRefreshing()
    // The issuer has refused this refresh token to another process already.
    if (stored !== undefined && isEnded(stored, session)) return { session: stored, refreshed: false }
    const wasInterrupted = stored?.renewing !== undefined
    this.marker = Date.now()
    // A store that is away may have given the lock to another process. When the store only refuses writes, the refresh
    // goes on: storing the new tokens then fails too, and `SessionSaver` logs that.
    await sessions.write({ ...session, renewing: this.marker }).catch((error: unknown) => {
      if (error instanceof UpstreamError) throw error
    })
    const { renewing: _, ...rest } = session
    try {
      const endpoint = await endpointOf(session)
      const tokens = await endpoint.refresh(refreshToken)
      const merged = { refreshToken, ...(idToken !== undefined && { idToken }), ...tokens }
      return { session: { ...rest, tokens: merged, obtainedAt: Date.now() }, refreshed: true }
    } catch (error) {
      const code = error instanceof UpstreamError ? error.code : ''
      if (!LOGIN_ENDED.has(code)) {
        // The refresh is over, so other processes need not wait for it.
        await sessions.write({ ...session, renewing: NO_REFRESH }).catch(() => {})
        throw error
      }
      const { refreshToken: _invalid, ...tokens } = session.tokens
      await this.reportEnd(session, code, wasInterrupted)
      return { session: { ...rest, tokens }, refreshed: false }
    }
  }

  /** By the time that passed in this process: the marker comes from the clock of another machine. */
  private isInProgress({ renewing = NO_REFRESH }: Session): boolean {
    if (renewing === NO_REFRESH || renewing === this.marker) return false
    const now = performance.now()
    const { marker, waited, checkedAt } = this.other
    const isKnown = marker === renewing
    this.other = {
      marker: renewing,
      waited: isKnown ? waited + Math.min(now - checkedAt, MAX_COUNTED_INTERVAL) : 0,
      checkedAt: now,
    }
    return this.other.waited < OTHER_REFRESH
  }

  private async reportEnd({ server, client }: Session, code: string, wasInterrupted: boolean): Promise<void> {
    const { log, login } = this.dependencies
    const { issuer } = server
    if (CLIENT_REFUSED.includes(code)) await login.forget(client)
    if (wasInterrupted && code === 'OAUTH_INVALID_GRANT') {
      log.warn(
        { issuer, code },
        'an earlier refresh was interrupted before its tokens were stored, and the issuer accepts a refresh token once; a new login is needed',
      )
    } else log.info({ issuer, code }, 'the session has ended; a new login is needed')
  }
}

const isEnded = (stored: Session, { tokens: { accessToken } }: Session): boolean =>
  stored.tokens.accessToken === accessToken && stored.tokens.refreshToken === undefined
