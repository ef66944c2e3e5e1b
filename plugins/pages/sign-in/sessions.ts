import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { ResponseBodyError } from 'openid-client'
import { type BrowserSession, type Log, type StateStore, UpstreamError } from 'sallyport'
import { digestOf, ExpiringMap, type LogThrottle } from 'sallyport/toolkit'
import { z } from 'zod'
import { ChunkedCookie } from '#plugins/login/browser/cookies.js'
import type { Seal } from '#plugins/login/browser/seal.js'
import type { CodeFlow, Redeemed } from '#plugins/login/flow/code-flow.js'
import { failureOf } from '#plugins/login/flow/failures.js'

const tokens = z.object({
  id: z.string(),
  access: z.string().regex(/^[\w.~+/-]+=*$/),
  refresh: z.string().optional(),
  until: z.number(),
  name: z.string().optional(),
})

/** The tokens of a person who signed in. `id` is that of the session, which a renewal does not change. */
export type Tokens = z.output<typeof tokens>

const LONGEST_NAME = 100
const UNKNOWN_LIFETIME = 3_600_000

const unknownExpiry = (): number => Date.now() + UNKNOWN_LIFETIME

/** A new session of the person who signed in. */
export const sessionOf = ({ access, refresh, expiresAt, claims }: Redeemed): Tokens => ({
  id: randomUUID(),
  access,
  refresh,
  until: expiresAt ?? unknownExpiry(),
  name: [claims?.['name'], claims?.['preferred_username'], claims?.['email']]
    .find(isName)
    ?.slice(0, LONGEST_NAME),
})

const isName = (claim: unknown): claim is string => typeof claim === 'string' && claim.trim() !== ''

const PURPOSE = 'session'
// As many as leave room for other cookies in the 32 KiB that Node reads.
const CHUNKS = 4
// A request takes a moment to be handled.
const MARGIN = 5_000
// The browser sends the old cookie with the requests that it began before it got the new one.
const REMEMBERED = 60_000
// Unused for longer, a session with a refresh token has ended.
const LONGEST_UNUSED = 30 * 24 * 3_600_000

/** Renewals of a moment ago, by a digest of the access token. */
type Renewals = ExpiringMap<Promise<Tokens | undefined>>
export const openRenewals = (): Renewals => new ExpiringMap(1_000)

interface Dependencies {
  readonly renewals: Renewals
  readonly ended: EndedSessions
  readonly flow: CodeFlow
  readonly issuerUrl: string
  readonly seal: Seal
  readonly secure: boolean
  readonly scope: string
  readonly log: Log
  readonly throttle: LogThrottle
}

/** Sessions in sealed cookies: nothing of them is stored but that they have ended. */
export class Sessions implements BrowserSession {
  readonly signOutPath: string
  private readonly cookie: ChunkedCookie
  private readonly people = new WeakMap<FastifyRequest, Tokens>()
  private readonly changes = new WeakMap<FastifyRequest, readonly string[]>()

  constructor(private readonly dependencies: Dependencies) {
    this.signOutPath = `${dependencies.scope}/sign-out`
    this.cookie = new ChunkedCookie(dependencies.seal.cookieName(PURPOSE), dependencies.secure, CHUNKS)
  }

  token(request: FastifyRequest): undefined | Promise<string | undefined> {
    const sealed = this.cookie.read(request.headers.cookie)
    return sealed === undefined ? undefined : this.tokenIn(sealed, request)
  }

  person(request: FastifyRequest): string | undefined {
    const session = this.people.get(request)
    return session && (session.name ?? '')
  }

  signInPath(returnTo: string): string {
    return `${this.dependencies.scope}/sign-in?return=${encodeURIComponent(returnTo.toWellFormed())}`
  }

  /** The session of a request, whether its token has expired or not. */
  async read(request: FastifyRequest): Promise<Tokens | undefined> {
    const sealed = this.cookie.read(request.headers.cookie)
    return sealed === undefined ? undefined : this.dependencies.seal.open(PURPOSE, sealed, tokens)
  }

  /** The values of `Set-Cookie` for a session; undefined when it is too large. */
  async cookies(session: Tokens): Promise<readonly string[] | undefined> {
    const until = session.refresh === undefined ? session.until : Date.now() + LONGEST_UNUSED
    return this.cookie.write(await this.dependencies.seal.seal(PURPOSE, session, until))
  }

  remove(): readonly string[] {
    return this.cookie.remove()
  }

  /**
   * From now on no copy of a cookie of the session opens anything, also of one that a renewal under way would set.
   * Settles when all replicas know.
   */
  end(session: Tokens): Promise<void> {
    // A cookie of another replica may be on its way at this moment.
    const longest = session.refresh === undefined ? 0 : Date.now() + LONGEST_UNUSED + REMEMBERED
    return this.dependencies.ended.add(session.id, Math.max(session.until, longest))
  }

  /** The tokens that a session has once the renewal that may be under way is done. */
  async latest(session: Tokens): Promise<Tokens> {
    const { renewals } = this.dependencies
    return (await renewals.get(digestOf(session.access))?.catch(() => undefined)) ?? session
  }

  /** What the response to a request sets, after a token was renewed. */
  changed(request: FastifyRequest): readonly string[] | undefined {
    const session = this.people.get(request)
    // It may have ended while the response was made.
    const hasEnded = session !== undefined && this.dependencies.ended.hasHere(session.id)
    return hasEnded ? undefined : this.changes.get(request)
  }

  private async tokenIn(sealed: string, request: FastifyRequest): Promise<string | undefined> {
    const stored = await this.dependencies.seal.open(PURPOSE, sealed, tokens)
    if (stored === undefined || (await this.dependencies.ended.has(stored.id))) return undefined
    const session = stored.until - MARGIN > Date.now() ? stored : await this.renewed(stored, request)
    if (session !== undefined) this.people.set(request, session)
    return session?.access
  }

  private async renewed(old: Tokens, request: FastifyRequest): Promise<Tokens | undefined> {
    // Without a refresh token a session lasts to the end of its token.
    if (old.refresh === undefined) return old.until > Date.now() ? old : undefined
    try {
      const session = await this.renewal(old)
      // The cookie stays: another replica may have redeemed its refresh token at this moment, and set the next one.
      if (session === undefined || (await this.dependencies.ended.has(old.id))) return undefined
      this.changes.set(request, (await this.cookies(session)) ?? this.remove())
      return session
    } catch (error) {
      if (old.until > Date.now()) return old
      throw error
    }
  }

  /** One at a time for a session: many issuers take a refresh token once, and end the session at a second use. */
  private renewal(old: Tokens): Promise<Tokens | undefined> {
    // Not the refresh token: some issuers give the same one again.
    const key = digestOf(old.access)
    const { renewals } = this.dependencies
    const begun = renewals.get(key)
    if (begun !== undefined) return begun
    const renewal = this.refresh(old)
    renewals.set(key, renewal, Date.now() + REMEMBERED)
    renewal.catch(() => renewals.delete(key))
    return renewal
  }

  private async refresh(old: Tokens): Promise<Tokens | undefined> {
    const { flow, issuerUrl, log, throttle } = this.dependencies
    try {
      const { access, refresh, expiresAt } = await flow.refresh(old.refresh ?? '')
      return { ...old, access, refresh, until: expiresAt ?? unknownExpiry() }
    } catch (error) {
      const { sentence, status, code, cause } = failureOf(error, issuerUrl)
      // Any other refusal is a matter of the client or the moment, and the refresh token may be good again.
      const over = error instanceof ResponseBodyError && error.error === 'invalid_grant'
      const extra = { reason: sentence, cause }
      const message = 'a session could not be renewed'
      throttle.write(log, over ? 'info' : 'warn', message, { code, status }, extra)
      if (over) return undefined
      const unavailable = 'the session cannot be renewed right now'
      throw new UpstreamError('SIGN_IN_UNAVAILABLE', unavailable, { statusCode: 503, retryAfter: 5 })
    }
  }
}

/** Sessions that were signed out, of this process; a list that takes the place of this one knows them too. */
export const endedHere = (): ExpiringMap<true> => new ExpiringMap<true>(100_000)

interface EndedDependencies {
  readonly here: ExpiringMap<true>
  /** Where all replicas find them, if the list has one. */
  readonly store: () => StateStore | undefined
  readonly log: Log
  readonly throttle: LogThrottle
}

/** Remembers who signed out, for as long as a copy of a cookie of theirs could be used. */
export class EndedSessions {
  constructor(private readonly dependencies: EndedDependencies) {}

  /** At once in this process. The store follows, and what fails there is logged: the browser has lost its cookie in any case. */
  async add(id: string, until: number): Promise<void> {
    const { here, store, log, throttle } = this.dependencies
    here.set(id, true, until)
    try {
      await store()?.set(keyOf(id), 'signed out', { expiresAt: until })
    } catch (cause) {
      const message = 'a sign-out could not be stored: other replicas still accept copies of the cookie'
      throttle.write(log, 'warn', message, {}, { err: cause })
    }
  }

  /** As far as this process knows. */
  hasHere(id: string): boolean {
    return this.dependencies.here.get(id) === true
  }

  /** Throws when the store cannot be asked: whether a session has ended is not guessed. */
  async has(id: string): Promise<boolean> {
    if (this.hasHere(id)) return true
    try {
      return (await this.dependencies.store()?.get(keyOf(id))) !== undefined
    } catch (cause) {
      const message = 'it cannot be found out right now whether this session has ended'
      throw new UpstreamError('SIGN_IN_UNAVAILABLE', message, { statusCode: 503, retryAfter: 5, cause })
    }
  }
}

// Random, so no other plugin that stores there has the same.
const keyOf = (id: string): string => `signed-out:${id}`
