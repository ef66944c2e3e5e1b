import { type Held, LONGEST_WAIT, type Scrubber } from 'sallyport'
import type { Session } from './session.js'

// How long before its end a token is renewed, and how long before it requests wait for that.
const AHEAD = 60_000
const TOO_LATE = 5_000
const LONGEST_PAUSE = 60_000

/** The session that is in use, and how long its token is good. */
export class Holding {
  private now: Session | undefined
  private held: Held | undefined
  private goodUntil = 0
  private forgetNewer: readonly (() => void)[] = []
  private forgetOlder: readonly (() => void)[] = []

  constructor(private readonly scrubber: Scrubber) {}

  get session(): Session | undefined {
    return this.now
  }

  /** The credential, when it is good for a while. */
  get good(): Held | undefined {
    return Date.now() < this.goodUntil ? this.held : undefined
  }

  /** The credential until its very end. */
  get last(): Held | undefined {
    return Date.now() < this.end ? this.held : undefined
  }

  take(session: Session): void {
    const { accessToken, refreshToken, idToken, expiresAt } = session.tokens
    this.learn([accessToken, refreshToken, idToken])
    this.now = session
    this.held = {
      header: 'authorization',
      value: `Bearer ${accessToken}`,
      accessToken,
      ...(idToken !== undefined && { idToken }),
      ...(expiresAt !== undefined && { expiresAt: Math.floor(expiresAt / 1000) }),
    }
    this.goodUntil = this.end - Math.min(TOO_LATE, this.life / 4)
  }

  /** The token could not be renewed: requests do not wait at once for what has just failed. */
  bear(rest: number): void {
    if (this.good === undefined) this.goodUntil = Math.min(this.end, Date.now() + rest)
  }

  /** Milliseconds until it is worth a try to renew it in the background; nothing when it has no end. */
  pause(failures: number): number | undefined {
    const left = this.end - Date.now()
    if (left === Number.POSITIVE_INFINITY) return undefined
    // Not all processes at once: most find that another has done it.
    const due = left - Math.min(AHEAD, this.life / 2) * (0.9 + Math.random() / 5)
    const again = Math.min(500 * 2 ** failures, LONGEST_PAUSE, left > 0 ? left / 4 : LONGEST_PAUSE)
    return Math.max(0, Math.min(failures === 0 ? due : again, LONGEST_WAIT))
  }

  private get end(): number {
    return this.now?.tokens.expiresAt ?? Number.POSITIVE_INFINITY
  }

  private get life(): number {
    return this.end - (this.now?.obtainedAt ?? 0)
  }

  /** The tokens before these may still be in flight, those before them are not. */
  private learn(tokens: readonly (string | undefined)[]): void {
    for (const forget of this.forgetOlder) forget()
    this.forgetOlder = this.forgetNewer
    this.forgetNewer = tokens.filter((token) => token !== undefined).map((token) => this.scrubber.add(token))
  }
}
