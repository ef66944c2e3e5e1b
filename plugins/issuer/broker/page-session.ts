import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { SignJWT } from 'jose/jwt/sign'
import { importJWK } from 'jose/key/import'
import type { BrowserSession } from 'sallyport'
import { ExpiringMap } from 'sallyport/toolkit'
import type { BrowserLogins } from './browser.js'
import { ALGORITHM, claimsOf } from './engine.js'
import type { BrokerKeys } from './keys.js'
import type { Logins, StoredLogin } from './logins.js'
import { nameOf } from './logins.js'
import type { BrokerOptions } from './options.js'

interface Dependencies {
  readonly issuer: string
  readonly scope: string
  readonly options: BrokerOptions
  readonly keys: BrokerKeys
  readonly logins: Logins
  readonly browsers: BrowserLogins
}

/** The client ID of the pages, which no client that registers can have. */
const CLIENT = 'pages'
const TOKEN_SECONDS = 60
const REUSED = 30_000

interface Shown {
  readonly name: string
  /** The values of `Set-Cookie` that keep the session. */
  readonly cookies: readonly string[] | undefined
}

/** The session of a browser at the broker opens the pages of the gateway, by short tokens that never leave the process. */
export class PageSessions implements BrowserSession {
  readonly signOutPath: string
  private readonly tokens = new ExpiringMap<Promise<string>>(10_000)
  private readonly asking = new Map<string, Promise<StoredLogin | undefined>>()
  private readonly shown = new WeakMap<FastifyRequest, Shown>()

  constructor(private readonly dependencies: Dependencies) {
    this.signOutPath = `${dependencies.scope}/oauth/sign-out`
  }

  async token(request: FastifyRequest): Promise<string | undefined> {
    if (request.headers.cookie === undefined) return undefined
    const { browsers } = this.dependencies
    const browser = await browsers.read(request)
    const login = browser && (await this.current(browser.login))
    if (browser === undefined || login === undefined) return undefined
    const token = await this.tokenOf(login)
    this.shown.set(request, { name: nameOf(login), cookies: await browsers.renew(browser) })
    return token
  }

  person(request: FastifyRequest): string | undefined {
    return this.shown.get(request)?.name
  }

  /** What the response to a request sets. */
  changed(request: FastifyRequest): readonly string[] | undefined {
    return this.shown.get(request)?.cookies
  }

  signInPath(returnTo: string): string {
    return `${this.dependencies.scope}/oauth/sign-in?return=${encodeURIComponent(returnTo.toWellFormed())}`
  }

  /** The provider is asked as often as at the refreshes of a client: a session in use outlasts the person there no longer. */
  private async current(id: string): Promise<StoredLogin | undefined> {
    const { logins, options } = this.dependencies
    const isRecent = ({ asked }: StoredLogin): boolean => Date.now() - asked < options.accessToken
    const login = await logins.read(id)
    if (login === undefined || isRecent(login)) return login
    // Pages make several requests at once, and the provider may be slow.
    const asking = this.asking.get(id) ?? logins.refreshed(id, isRecent).finally(() => this.asking.delete(id))
    this.asking.set(id, asking)
    return asking
  }

  private tokenOf(login: StoredLogin): Promise<string> {
    const made = this.tokens.get(login.id) ?? this.sign(login)
    this.tokens.set(login.id, made, Date.now() + REUSED)
    made.catch(() => this.tokens.delete(login.id))
    return made
  }

  private async sign(login: StoredLogin): Promise<string> {
    const { issuer, options, keys } = this.dependencies
    const [key = {}] = keys.signing
    const now = Math.floor(Date.now() / 1000)
    return new SignJWT({
      ...claimsOf(login, options),
      client_id: CLIENT,
      ...(options.scopes.length > 0 && { scope: options.scopes.join(' ') }),
    })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'at+jwt', kid: String(key['kid']) })
      .setIssuer(issuer)
      .setAudience(options.resourceUrl)
      .setSubject(login.subject)
      .setIssuedAt(now)
      .setExpirationTime(now + TOKEN_SECONDS)
      .setJti(randomUUID())
      .sign(await importJWK(key, ALGORITHM))
  }
}
