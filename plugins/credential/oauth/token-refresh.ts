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

// How long the refresh of another process is waited for: until its request has timed out, and what it got is stored.
const OTHER_REFRESH = REQUEST_LIMIT + 1_000
const POLL_INTERVAL = 100
// A store that was away or silent between two looks has kept the other process waiting too.
const MOST_OF_A_LOOK = 1_000

/** In place of a marker. */
const NOBODY = 0

/** Another process may still get the answer to the refresh that it began. */
export class OtherRefresh extends Error {}

const CLIENT_REFUSED = ['OAUTH_INVALID_CLIENT', 'OAUTH_UNAUTHORIZED_CLIENT']

const LOGIN_ENDED = new Set([
  ...CLIENT_REFUSED,
  'OAUTH_INVALID_GRANT',
  // OpenID Connect, 3.1.2.6, as Entra answers a refresh.
  ...['OAUTH_INTERACTION_REQUIRED', 'OAUTH_LOGIN_REQUIRED', 'OAUTH_CONSENT_REQUIRED'],
  // GitHub and Slack.
  ...['OAUTH_BAD_REFRESH_TOKEN', 'OAUTH_INVALID_REFRESH_TOKEN'],
])

/**
 * One refresh, under the session's lock. Many issuers accept a refresh token only once, so its successor is lost when
 * this process ends before it is stored. Therefore `renewing` is stored first: the next process then tries the same token
 * at once, while the issuer may still repeat its response.
 */
export class TokenRefresh {
  private marker: number | undefined
  /** The marker of another process, and how long it was waited for. */
  private other = { marker: 0, waited: 0, lookedAt: 0 }

  constructor(private readonly dependencies: Dependencies) {}

  /**
   * Runs `work` under the session's lock, and again when it throws `OtherRefresh`. Between the two the lock is free: the
   * other process, which lost it with its connection to the store, needs it to store what it got.
   */
  async locked<T>(work: () => Promise<T>): Promise<T> {
    const { sessions, stopping } = this.dependencies
    for (;;) {
      try {
        return await sessions.locked(work)
      } catch (error) {
        if (!(error instanceof OtherRefresh)) throw error
      }
      await delay(POLL_INTERVAL)
      stopping.throwIfAborted()
    }
  }

  /** Under the lock. Throws when the issuer was not reached or failed: the session is unchanged. */
  async run(session: Session): Promise<RefreshResult> {
    const { sessions, endpointOf } = this.dependencies
    const { refreshToken = '', idToken } = session.tokens
    const stored = await sessions.read()
    if (stored?.tokens.refreshToken === refreshToken && this.isInProgress(stored)) throw new OtherRefresh()
    // Another process was refused with it already.
    if (stored !== undefined && isEnded(stored, session)) return { session: stored, refreshed: false }
    const wasInterrupted = stored?.renewing !== undefined
    this.marker = Date.now()
    // A store that is away may have given the lock to another process. Where it only cannot be written the new tokens
    // cannot be stored either, and that is logged then.
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
        // Nobody waits for an answer any more, so others need not wait for this process.
        await sessions.write({ ...session, renewing: NOBODY }).catch(() => {})
        throw error
      }
      const { refreshToken: _invalid, ...tokens } = session.tokens
      await this.reportEnd(session, code, wasInterrupted)
      return { session: { ...rest, tokens }, refreshed: false }
    }
  }

  /** By the time that went by here: the marker is of another machine's clock. */
  private isInProgress({ renewing = NOBODY }: Session): boolean {
    if (renewing === NOBODY || renewing === this.marker) return false
    const now = performance.now()
    const { marker, waited, lookedAt } = this.other
    const isKnown = marker === renewing
    this.other = {
      marker: renewing,
      waited: isKnown ? waited + Math.min(now - lookedAt, MOST_OF_A_LOOK) : 0,
      lookedAt: now,
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
