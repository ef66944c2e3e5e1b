import type { OutgoingCredential, Scrubber } from 'sallyport'
import { LONGEST_WAIT } from 'sallyport/toolkit'
import type { Session } from './session.js'

// How long before the expiry of a token the refresh begins, and how long before it requests wait for the refresh.
const REFRESH_AHEAD = 60_000
const WAIT_BEFORE_EXPIRY = 5_000
const MAX_RETRY_DELAY = 60_000
// Tokens that live less than a second would be refreshed without end.
const MIN_DELAY = 500

/** The session in use and its access token, with its expiry. */
export class CurrentToken {
  private latest: Session | undefined
  private credential: OutgoingCredential | undefined
  // By the monotonic clock, since a token's lifetime does not depend on the time of day. The wall clock, which goes on
  // while a laptop sleeps, may cause an earlier refresh where no user is needed; it never makes a token last longer.
  private expiry = Number.POSITIVE_INFINITY
  private freshUntil = 0
  private graceUntil = 0
  private unscrubCurrent: readonly (() => void)[] = []
  private unscrubPrevious: readonly (() => void)[] = []

  constructor(private readonly scrubber: Scrubber) {}

  get session(): Session | undefined {
    return this.latest
  }

  /** The credential, unless it is about to expire. */
  get fresh(): OutgoingCredential | undefined {
    const now = performance.now()
    if (now >= this.freshUntil) return undefined
    const isInGrace = now < this.graceUntil || this.latest?.tokens.refreshToken === undefined
    return isInGrace || Date.now() < this.expiresAt ? this.credential : undefined
  }

  /** The credential, until it has expired. */
  get unexpired(): OutgoingCredential | undefined {
    return performance.now() < this.expiry ? this.credential : undefined
  }

  set(session: Session): void {
    const { accessToken, refreshToken, idToken, expiresAt } = session.tokens
    this.scrub([accessToken, refreshToken, idToken])
    this.latest = session
    this.credential = {
      header: 'authorization',
      value: `Bearer ${accessToken}`,
      accessToken,
      ...(idToken !== undefined && { idToken }),
      ...(expiresAt !== undefined && { expiresAt: Math.floor(expiresAt / 1000) }),
    }
    // A token that was stored while the clock was ahead lasts no longer than its lifetime.
    this.expiry = performance.now() + Math.min(this.expiresAt - Date.now(), this.lifetime)
    this.freshUntil = this.expiry - Math.min(WAIT_BEFORE_EXPIRY, this.lifetime / 4)
  }

  /** A refresh failed: the token is used for this long before requests wait for the next attempt. */
  extend(milliseconds: number): void {
    this.graceUntil = performance.now() + milliseconds
    this.freshUntil = Math.min(this.expiry, Math.max(this.freshUntil, this.graceUntil))
  }

  /** Milliseconds until the next refresh in the background; `undefined` for a token without an expiry. */
  refreshDelay(failures: number): number | undefined {
    const left = this.expiry - performance.now()
    if (left === Number.POSITIVE_INFINITY) return undefined
    // The processes refresh at different moments, so that most of them find the new token of another process.
    const due = left - Math.min(REFRESH_AHEAD, this.lifetime / 2) * (0.9 + Math.random() / 5)
    const retry = Math.min(500 * 2 ** failures, MAX_RETRY_DELAY, left > 0 ? left / 4 : MAX_RETRY_DELAY)
    return Math.max(MIN_DELAY, Math.min(failures === 0 ? due : retry, LONGEST_WAIT))
  }

  /** In milliseconds since the epoch. */
  private get expiresAt(): number {
    return this.latest?.tokens.expiresAt ?? Number.POSITIVE_INFINITY
  }

  private get lifetime(): number {
    return this.expiresAt - (this.latest?.obtainedAt ?? 0)
  }

  /** Hides these tokens in the log, and the previous ones, which may still be in flight. */
  private scrub(tokens: readonly (string | undefined)[]): void {
    for (const unscrub of this.unscrubPrevious) unscrub()
    this.unscrubPrevious = this.unscrubCurrent
    this.unscrubCurrent = tokens
      .filter((token) => token !== undefined)
      .map((token) => this.scrubber.add(token))
  }
}
