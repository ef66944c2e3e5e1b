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

// Of a token whose issuer does not say it.
const assumedEnd = (): number => Date.now() + 3_600_000

/** A new session of the person who signed in. */
export const sessionOf = ({ access, refresh, expiresAt, claims }: Redeemed): Tokens => ({
  id: randomUUID(),
  access,
  refresh,
  until: expiresAt ?? assumedEnd(),
  name: [claims?.['name'], claims?.['preferred_username'], claims?.['email']]
    .find(isName)
    ?.slice(0, LONGEST_NAME),
})

const isName = (claim: unknown): claim is string => typeof claim === 'string' && claim.trim() !== ''

const PURPOSE = 'session'
// The most cookies of a session: they leave room for others in the 32 KiB of headers that Node accepts.
const CHUNKS = 4
// Milliseconds before the expiry: handling a request takes a moment.
const MARGIN = 5_000
// Milliseconds: a browser sends the old cookie with requests that it began before it got the new one.
const REMEMBERED = 60_000
// Milliseconds after which an unused session with a refresh token ends.
const LONGEST_UNUSED = 30 * 24 * 3_600_000

/** Recent renewals, by a digest of the access token. */
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

/** Sessions in sealed cookies: the gateway stores only which sessions have ended. */
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

  /** Returns the session of a request, whether its token has expired or not. */
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
   * Ends the session: no copy of its cookies opens anything from now on, also no cookie of a renewal that is still
   * running. Settles when all replicas know.
   */
  end(session: Tokens): Promise<void> {
    // Another replica may be sending a new cookie at this moment.
    const longest = session.refresh === undefined ? 0 : Date.now() + LONGEST_UNUSED + REMEMBERED
    return this.dependencies.ended.add(session.id, Math.max(session.until, longest))
  }

  /** Returns the tokens of a session, after any running renewal. */
  async latest(session: Tokens): Promise<Tokens> {
    const { renewals } = this.dependencies
    return (await renewals.get(digestOf(session.access))?.catch(() => undefined)) ?? session
  }

  /** The cookies that the response sets after a renewal. */
  changed(request: FastifyRequest): readonly string[] | undefined {
    const session = this.people.get(request)
    // The session may have ended while the handler made the response.
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
    // Without a refresh token a session ends with its token.
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

  /**
   * One renewal at a time for a session: many issuers accept a refresh token once, and end the session at a second
   * use.
   */
  private renewal(old: Tokens): Promise<Tokens | undefined> {
    // Keyed by the access token, since some issuers return the same refresh token again.
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
      return { ...old, access, refresh, until: expiresAt ?? assumedEnd() }
    } catch (error) {
      const { sentence, status, code, cause } = failureOf(error, issuerUrl)
      // Any other refusal concerns the client or passes by itself, and the refresh token may still be valid.
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

/** Sessions that people ended in this process; the list after a reload shares them. */
export const endedHere = (): ExpiringMap<true> => new ExpiringMap<true>(100_000)

interface EndedDependencies {
  readonly here: ExpiringMap<true>
  /** The state store that all replicas share, if the list has one. */
  readonly store: () => StateStore | undefined
  readonly log: Log
  readonly throttle: LogThrottle
}

/** Remembers ended sessions for as long as a copy of a cookie could be used. */
export class EndedSessions {
  constructor(private readonly dependencies: EndedDependencies) {}

  /**
   * Takes effect at once in this process, then in the store, whose failures are logged: the browser loses its cookie
   * anyway.
   */
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

  /** Whether the session has ended, as far as this process knows. */
  hasHere(id: string): boolean {
    return this.dependencies.here.get(id) === true
  }

  /** Throws when the store is unreachable: the gateway does not guess whether a session has ended. */
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

// A random prefix, which no other plugin in the same store has.
const keyOf = (id: string): string => `signed-out:${id}`
