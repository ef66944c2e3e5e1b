import { AsyncResource } from 'node:async_hooks'
import { hash } from 'node:crypto'
import type { AuthorizationServer } from 'oauth4webapi'
import { type Log, type StateStore, UpstreamError } from 'sallyport'
import { registeredClient } from 'sallyport/toolkit'
import { z } from 'zod'
import type { OAuthOptions } from './options.js'

const tokens = z.object({
  accessToken: z.string().min(1),
  refreshToken: z.string().min(1).optional(),
  idToken: z.string().optional(),
  expiresAt: z.number().optional(),
  scopes: z.array(z.string()).readonly().optional(),
})

/** A session as it is stored: with its issuer and client, so that its refresh token is sent to no other (T3). */
const session = z.object({
  format: z.literal(1),
  target: z.string(),
  server: z.looseObject({ issuer: z.string(), token_endpoint: z.string().optional() }),
  client: registeredClient,
  resource: z.string().optional(),
  /** The requested scopes; a login for more scopes requests these again. */
  scopes: z.array(z.string()).readonly(),
  tokens,
  obtainedAt: z.number(),
  /** When a refresh began whose tokens are not stored yet. */
  renewing: z.number().optional(),
})

export type Session = Omit<z.output<typeof session>, 'server'> & { readonly server: AuthorizationServer }

/** The session that was used last. It outlives a reload. */
export interface LatestSession {
  session: Session | undefined
}

const failure = z.object({
  at: z.number(),
  code: z.string(),
  message: z.string(),
  statusCode: z.literal([502, 503, 504]),
  retryAfter: z.number().optional(),
})

/**
 * The stored session for these options, with two locks: one for changes of the session, one for a login, which is
 * longer.
 */
export class SessionStore {
  readonly key: string
  private readonly loginKey: string
  private readonly failureKey: string
  private readonly pageKey: string

  constructor(
    options: OAuthOptions,
    private readonly store: () => StateStore,
    private readonly log: Log,
  ) {
    const { target, issuer, authorizationUrl, tokenUrl, resource, scopes, grant, keptAs } = options
    const settings = [target, issuer, authorizationUrl, tokenUrl, resource, scopes, grant, keptAs]
    const digest = hash('sha256', JSON.stringify(settings)).slice(0, 32)
    this.key = `oauth/session/${digest}`
    this.loginKey = `oauth/login/${digest}`
    this.failureKey = `oauth/failure/${digest}`
    this.pageKey = `oauth/page/${digest}`
  }

  async read(): Promise<Session | undefined> {
    const text = await this.store().get(this.key)
    if (text === undefined) return undefined
    try {
      const { server, ...rest } = session.parse(JSON.parse(text))
      return { ...rest, server: server as AuthorizationServer }
    } catch {
      this.log.warn({ key: this.key }, 'the stored session has an unknown format and is not used')
      return undefined
    }
  }

  async write(value: Session): Promise<void> {
    await this.store().set(this.key, JSON.stringify(value))
  }

  /** The last failed login of any process, if it was within the last `milliseconds`. */
  async failureWithin(milliseconds: number): Promise<UpstreamError | undefined> {
    // Before the read, which may take long: it opens a keyring.
    const since = Date.now() - milliseconds
    const text = await this.store().get(this.failureKey)
    const stored = text === undefined ? undefined : parseFailure(text)
    // The clock may have been set back since.
    if (stored === undefined || stored.at <= since || stored.at > Date.now()) return undefined
    const { code, message, statusCode, retryAfter } = stored
    return new UpstreamError(code, message, { statusCode, ...(retryAfter !== undefined && { retryAfter }) })
  }

  /** For the processes that wait to log in after this one: they do not prompt the user again at once. */
  async recordFailure({ code, message, statusCode, retryAfter }: UpstreamError): Promise<void> {
    await this.store().set(
      this.failureKey,
      JSON.stringify({ at: Date.now(), code, message, statusCode, retryAfter }),
    )
  }

  /** Publishes the URL of the sign-in page to all processes. A store that fails does not fail the login. */
  async showPage(url: string | undefined): Promise<void> {
    const store = this.store()
    await (url === undefined ? store.delete(this.pageKey) : store.set(this.pageKey, url)).catch(() => {})
  }

  page(): Promise<string | undefined> {
    return this.store()
      .get(this.pageKey)
      .catch(() => undefined)
  }

  locked<T>(work: () => Promise<T>): Promise<T> {
    return this.store().locked(this.key, work)
  }

  /**
   * Outside the async context of the store's lock, where a write fails with that lock: the session has a lock of its
   * own.
   */
  lockedLogin<T>(work: () => Promise<T>): Promise<T> {
    return this.store().locked(this.loginKey, AsyncResource.bind(work))
  }
}

function parseFailure(text: string): z.output<typeof failure> | undefined {
  try {
    return failure.parse(JSON.parse(text))
  } catch {
    // Written by another version.
    return undefined
  }
}
