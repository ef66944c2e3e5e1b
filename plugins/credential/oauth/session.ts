import { createHash } from 'node:crypto'
import type { AuthorizationServer } from 'oauth4webapi'
import { type Log, type StateStore, UpstreamError } from 'sallyport'
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
const FAILURES = 'oauth/failure/'

const failure = z.object({
  at: z.number(),
  code: z.string(),
  message: z.string(),
  statusCode: z.literal([502, 503, 504]),
  retryAfter: z.number().optional(),
})

/** Where the login of these settings is kept, and under which lock it is renewed. */
export class SessionShelf {
  readonly key: string
  private readonly failureKey: string

  constructor(
    options: OAuthOptions,
    private readonly store: () => StateStore,
    private readonly log: Log,
  ) {
    const { target, issuer, authorizationUrl, tokenUrl, resource, scopes, grant, keptAs } = options
    const settings = [target, issuer, authorizationUrl, tokenUrl, resource, scopes, grant, keptAs]
    const mark = createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 32)
    this.key = SESSIONS + mark
    this.failureKey = FAILURES + mark
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

  /** The last login that failed, in whichever process, if it was after this time. */
  async failureAfter(time: number): Promise<UpstreamError | undefined> {
    const text = await this.store().get(this.failureKey)
    const kept = text === undefined ? undefined : failureIn(text)
    // The clock may have been put back since.
    if (kept === undefined || kept.at <= time || kept.at > Date.now()) return undefined
    const { code, message, statusCode, retryAfter } = kept
    return new UpstreamError(code, message, { statusCode, ...(retryAfter !== undefined && { retryAfter }) })
  }

  /** For whoever waits to log in after this: a person is not to be asked again at once, nor told the same again. */
  async failed({ code, message, statusCode, retryAfter }: UpstreamError): Promise<void> {
    await this.store().set(
      this.failureKey,
      JSON.stringify({ at: Date.now(), code, message, statusCode, retryAfter }),
    )
  }

  locked<T>(work: () => Promise<T>): Promise<T> {
    return this.store().locked(this.key, work)
  }
}

function failureIn(text: string): z.output<typeof failure> | undefined {
  try {
    return failure.parse(JSON.parse(text))
  } catch {
    // Of another version: it is not known what it says.
    return undefined
  }
}
