import { createHash } from 'node:crypto'
import type { AuthorizationServer } from 'oauth4webapi'
import type { Log, StateStore } from 'sallyport'
import { z } from 'zod'
import type { OAuthOptions } from './options.js'

const tokens = z.object({
  accessToken: z.string().min(1),
  refreshToken: z.string().min(1).optional(),
  idToken: z.string().optional(),
  expiresAt: z.number().optional(),
  scopes: z.array(z.string()).readonly().optional(),
})

const client = z.object({
  issuer: z.string(),
  clientId: z.string(),
  clientSecret: z.string().optional(),
  tokenEndpointAuthMethod: z.string().optional(),
  redirectUris: z.array(z.string()).readonly().optional(),
  secretExpiresAt: z.number().optional(),
})

/** A login as it is kept: with its issuer and client, so that a refresh token never meets another (T3). */
const session = z.object({
  format: z.literal(1),
  target: z.string(),
  server: z.looseObject({ issuer: z.string(), token_endpoint: z.string().optional() }),
  client,
  resource: z.string().optional(),
  /** What was asked for; a wider login asks for these again. */
  scopes: z.array(z.string()).readonly(),
  tokens,
  obtainedAt: z.number(),
  /** Since when a refresh is under way that nothing was kept of yet. */
  renewing: z.number().optional(),
})

export type Session = Omit<z.output<typeof session>, 'server'> & { readonly server: AuthorizationServer }

const SESSIONS = 'oauth/session/'

/** Where the login of these settings is kept, and under which lock it is renewed. */
export class SessionShelf {
  readonly key: string

  constructor(
    options: OAuthOptions,
    private readonly store: () => StateStore,
    private readonly log: Log,
  ) {
    const { target, issuer, authorizationUrl, tokenUrl, resource, scopes, grant, keptAs } = options
    const settings = [target, issuer, authorizationUrl, tokenUrl, resource, scopes, grant, keptAs]
    const mark = createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 32)
    this.key = SESSIONS + mark
  }

  async read(): Promise<Session | undefined> {
    const text = await this.store().get(this.key)
    if (text === undefined) return undefined
    try {
      const { server, ...rest } = session.parse(JSON.parse(text))
      return { ...rest, server: server as AuthorizationServer }
    } catch {
      this.log.warn(
        { key: this.key },
        'a kept login has another form than this version writes: it is not used',
      )
      return undefined
    }
  }

  async write(value: Session): Promise<void> {
    await this.store().set(this.key, JSON.stringify(value))
  }

  locked<T>(work: () => Promise<T>): Promise<T> {
    return this.store().locked(this.key, work)
  }
}
