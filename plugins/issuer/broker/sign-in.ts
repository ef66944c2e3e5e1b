import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type Provider from 'oidc-provider'
import type { Interaction } from 'oidc-provider'
import { type Gateway, type LoginProvider, Refusal } from 'sallyport'
import { ConcurrencyLimit, digestOf, isJsonObject, type LogThrottle } from 'sallyport/toolkit'
import type { PendingSignIns } from '#plugins/login/browser/pending.js'
import { isOwnPage, returnAddress } from '#plugins/login/browser/return-address.js'
import { busy, type Failure, failureOf } from '#plugins/login/flow/failures.js'
import type { Bounds } from './bounds.js'
import type { BrowserLogins } from './browser.js'
import type { BrowserBinding } from './browser-binding.js'
import type { Consents, Wanted } from './consents.js'
import { consentPath, grantIdFor } from './engine.js'
import type { BrokerKeys } from './keys.js'
import { type Logins, nameOf, type StoredLogin } from './logins.js'
import type { BrokerOptions } from './options.js'
import { consentView, failureView, sendPage, turnedAwayView } from './views.js'

interface Dependencies {
  readonly gateway: Gateway
  readonly issuer: string
  readonly options: BrokerOptions
  readonly engine: Provider
  readonly provider: () => LoginProvider
  readonly keys: BrokerKeys
  readonly logins: Logins
  readonly binding: BrowserBinding
  readonly browsers: BrowserLogins
  readonly pending: PendingSignIns
  readonly consents: Consents
  readonly bounds: Bounds
  readonly throttle: LogThrottle
}

/** The redirect URI of the gateway at the provider. */
export const callbackUrl = (issuer: string): string => `${issuer.replace(/\/$/, '')}/oauth/callback`

type PersonRequest = FastifyRequest<{ Params: { uid: string } }>

/** What people see: they sign in at the provider, and allow a client, or not. */
export class SignInRoutes {
  private readonly limit = new ConcurrencyLimit()

  constructor(private readonly dependencies: Dependencies) {}

  async install(http: FastifyInstance): Promise<void> {
    await http.register(async (scoped) => {
      scoped.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string', bodyLimit: 8 * 1024 },
        (_request, body, done) => done(null, body),
      )
      const config = { public: true }
      scoped.get('/oauth/callback', { config }, (request, reply) =>
        this.shown(request, reply, () => this.finish(request, reply)),
      )
      scoped.get('/oauth/sign-in', { config }, (request, reply) =>
        this.shown(request, reply, () => this.begin(request, reply, this.returnAddress(request))),
      )
      const signOut = (request: FastifyRequest, reply: FastifyReply) =>
        this.shown(request, reply, () => this.signOut(request, reply))
      // Before the body is read: the form has none, whatever its content type says.
      scoped.post('/oauth/sign-out', { config, onRequest: signOut }, signOut)
      scoped.get<{ Params: { uid: string } }>('/oauth/consent/:uid', { config }, (request, reply) =>
        this.shown(request, reply, () => this.consent(request, reply)),
      )
      scoped.post<{ Params: { uid: string } }>('/oauth/consent/:uid', { config }, (request, reply) =>
        this.shown(request, reply, () => this.decide(request, reply)),
      )
    })
  }

  /** Begins a sign-in at the provider, or asks the person who signed in a moment ago. */
  private async consent(request: PersonRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { issuer } = this.dependencies
    const interaction = await this.interaction(request, reply)
    const login = await this.loginOf(request, interaction)
    if (login === undefined) return this.begin(request, reply, consentPath(issuer, request.params.uid))
    const wanted = this.wanted(interaction, await this.client(interaction))
    if (await this.isRemembered(interaction, login, wanted)) return this.allow(request, reply, login, wanted)
    return sendPage(
      reply,
      200,
      'Allow a program',
      consentView(await this.view(request, interaction, login, wanted)),
    )
  }

  private async begin(request: FastifyRequest, reply: FastifyReply, returnTo: string): Promise<FastifyReply> {
    const { issuer, provider, pending } = this.dependencies
    const { url, state, checks } = await provider().begin(callbackUrl(issuer))
    return unstored(reply)
      .header('set-cookie', await pending.add(request, { state, checks, returnTo }))
      .redirect(url, 303)
  }

  /** The browser comes back from the provider. */
  private async finish(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { provider } = this.dependencies
    const release = await this.limit.acquire(request.clientAddress)
    if (release === undefined) return this.failed(request, reply, busy(provider().name))
    try {
      return await this.answered(request, reply)
    } finally {
      release()
    }
  }

  private async answered(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { issuer, provider, pending, logins, browsers, bounds } = this.dependencies
    const at = request.url.indexOf('?')
    const query = at === -1 ? '' : request.url.slice(at)
    const { begun, cookies } = await pending.take(request, new URLSearchParams(query).get('state'))
    if (begun === undefined) throw unknownSignIn()
    reply.header('set-cookie', cookies)
    bounds.check('failed sign-in', request)
    const login = await provider()
      .finish(query, begun.checks, callbackUrl(issuer))
      .catch((error: unknown) => {
        bounds.count('failed sign-in', request)
        throw error
      })
    if (!logins.admits(login)) {
      this.note(request, 'warn', 'a person is not admitted')
      const form = this.leaving(begun.returnTo)
      return sendPage(reply, 403, 'Not admitted', turnedAwayView(nameOf(login), form))
    }
    const stored = await logins.add(login)
    this.note(request, 'info', 'a person signed in')
    return unstored(reply)
      .header('set-cookie', await browsers.begin(stored.id, stored.at))
      .redirect(new URL(begun.returnTo, issuer).href, 303)
  }

  /** The form that returns a person to the client; none where no client sent the person. */
  private leaving(returnTo: string): { readonly action: string; readonly token: string } | undefined {
    const { issuer, keys } = this.dependencies
    const uid = returnTo.slice(returnTo.lastIndexOf('/') + 1)
    if (returnTo !== consentPath(issuer, uid)) return undefined
    return { action: returnTo, token: keys.sign('decision', uid, '') }
  }

  private returnAddress({ query }: FastifyRequest): string {
    const { issuer, gateway } = this.dependencies
    const asked = isJsonObject(query) ? query['return'] : undefined
    return returnAddress(asked, new URL(issuer).origin, gateway.scope)
  }

  private async signOut(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { issuer, browsers, gateway } = this.dependencies
    if (!isOwnPage(request, new URL(issuer).origin))
      throw new Refusal(403, 'SIGN_OUT_FORBIDDEN', 'only a page of this gateway signs out')
    const found = await browsers.read(request)
    if (found !== undefined) await browsers.end(found)
    return unstored(reply).header('set-cookie', browsers.remove()).redirect(`${gateway.scope}/`, 303)
  }

  private async decide(request: PersonRequest, reply: FastifyReply): Promise<FastifyReply> {
    const interaction = await this.interaction(request, reply)
    const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '')
    const login = await this.loginOf(request, interaction)
    const token = form.get('token') ?? ''
    const { uid } = request.params
    const { keys, consents } = this.dependencies
    if (form.get('decision') !== 'allow') {
      const isOwn = ['', login?.id].some(
        (id) => id !== undefined && keys.hasSigned(token, 'decision', uid, id),
      )
      if (!isOwn) throw foreignForm()
      return this.end(request, reply, {
        error: 'access_denied',
        error_description: 'the person did not allow it',
      })
    }
    if (login === undefined) throw unknownSignIn()
    if (!keys.hasSigned(token, 'decision', uid, login.id)) throw foreignForm()
    const client = await this.client(interaction)
    const wanted = this.wanted(interaction, client)
    if (this.mayRemember(client)) await consents.add(login, wanted)
    return this.allow(request, reply, login, wanted)
  }

  private async allow(
    request: PersonRequest,
    reply: FastifyReply,
    login: StoredLogin,
    { clientId, name, resource, scopes }: Wanted,
  ): Promise<FastifyReply> {
    const { engine, options, logins } = this.dependencies
    await logins.addClient(login.id, name)
    const grant = new engine.Grant({
      accountId: login.subject,
      clientId,
      jti: grantIdFor(login, request.params.uid),
    })
    const ofResource = scopes.filter((scope) => options.scopes.includes(scope))
    const others = scopes.filter((scope) => !options.scopes.includes(scope))
    if (others.length > 0) grant.addOIDCScope(others.join(' '))
    if (ofResource.length > 0) grant.addResourceScope(resource, ofResource.join(' '))
    const grantId = await grant.save()
    return this.end(request, reply, {
      login: { accountId: login.subject, remember: false },
      consent: { grantId },
    })
  }

  private async end(request: PersonRequest, reply: FastifyReply, result: object): Promise<FastifyReply> {
    const address = await this.dependencies.engine.interactionResult(request.raw, reply.raw, result)
    return unstored(reply).redirect(address, 303)
  }

  /** What the client asked for. It is bound to the browser by cookies. */
  private async interaction(request: PersonRequest, reply: FastifyReply): Promise<Interaction> {
    const { engine, binding } = this.dependencies
    try {
      const found = await engine.interactionDetails(request.raw, reply.raw)
      if (found.uid === request.params.uid && binding.isOf(request, found.uid)) return found
    } catch (error) {
      if (!(error instanceof Error && 'error' in error && error.error === 'invalid_request')) throw error
    }
    throw unknownSignIn()
  }

  /** The sign-in of this browser, unless the client asked for a new one. */
  private async loginOf(
    request: FastifyRequest,
    { params, iat }: Interaction,
  ): Promise<StoredLogin | undefined> {
    const { browsers, logins } = this.dependencies
    const browser = await browsers.read(request)
    if (browser === undefined) return undefined
    const wantsNew =
      /(?:^| )(?:login|select_account)(?: |$)/.test(params.prompt ?? '') || params.max_age !== undefined
    if (wantsNew && browser.at < iat * 1000) return undefined
    return logins.read(browser.login)
  }

  private async client({ params }: Interaction): Promise<KnownClient> {
    const client = await this.dependencies.engine.Client.find(params.client_id)
    if (client === undefined) throw unknownSignIn()
    return client
  }

  private wanted({ params }: Interaction, client: KnownClient): Wanted {
    return {
      clientId: client.clientId,
      name: client.clientName ?? hostOf(client, params.redirect_uri),
      client: digestOf(JSON.stringify([client.clientName, client.redirectUris])),
      resource: this.dependencies.options.resourceUrl,
      scopes: (params.scope ?? '').split(' ').filter(Boolean),
    }
  }

  private async isRemembered(interaction: Interaction, login: StoredLogin, wanted: Wanted): Promise<boolean> {
    const asksAgain = /(?:^| )(?:consent|login)(?: |$)/.test(interaction.params.prompt ?? '')
    const client = await this.client(interaction)
    return !asksAgain && this.mayRemember(client) && (await this.dependencies.consents.has(login, wanted))
  }

  /** RFC 8252, 8.6: any program on a computer can pass for one that was allowed before. */
  private mayRemember(client: KnownClient): boolean {
    if (this.dependencies.options.consent === 'each-time') return false
    const isAuthenticated = client.clientAuthMethod !== 'none'
    return isAuthenticated || client.redirectUris.every((uri) => uri.startsWith('https:'))
  }

  private async view(request: PersonRequest, interaction: Interaction, login: StoredLogin, wanted: Wanted) {
    const { issuer, provider, keys } = this.dependencies
    const client = await this.client(interaction)
    const { uid } = request.params
    return {
      host: hostOf(client, interaction.params.redirect_uri),
      name: client.clientName,
      redirectUri: interaction.params.redirect_uri,
      person: nameOf(login),
      provider: provider().name,
      resource: wanted.resource,
      scopes: wanted.scopes.filter((scope) => scope !== 'openid' && scope !== 'offline_access'),
      action: consentPath(issuer, uid),
      token: keys.sign('decision', uid, login.id),
    }
  }

  /** Every failure is a page: a person looks at it. */
  private async shown(
    request: FastifyRequest,
    reply: FastifyReply,
    work: () => Promise<FastifyReply>,
  ): Promise<FastifyReply> {
    try {
      return await work()
    } catch (error) {
      return this.failed(request, reply, failureOf(error, this.dependencies.provider().name))
    }
  }

  private failed(request: FastifyRequest, reply: FastifyReply, failure: Failure): FastifyReply {
    const { status, code, sentence, cause, retryAfter } = failure
    const { throttle, gateway } = this.dependencies
    const extra = { reason: sentence, cause, requestId: request.id }
    throttle.write(
      gateway.log,
      status === 400 ? 'debug' : 'warn',
      'a sign-in failed',
      { code, status },
      extra,
    )
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
    return sendPage(reply, status, 'Not signed in', failureView(failure, request.id))
  }

  private note(request: FastifyRequest, level: 'info' | 'warn', message: string): void {
    const { throttle, gateway, provider } = this.dependencies
    throttle.write(gateway.log, level, message, { provider: provider().idp }, { requestId: request.id })
  }
}

type KnownClient = NonNullable<Awaited<ReturnType<Provider['Client']['find']>>>

const unstored = (reply: FastifyReply): FastifyReply =>
  reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')

/** What a person can judge a client by: a host that is proven, never the name that it chose. */
function hostOf({ clientId, clientAuthMethod, clientName }: KnownClient, redirectUri: string): string {
  // Before the name: whoever writes a document chooses the name in it, with keys too.
  if (clientId.startsWith('https://') && URL.canParse(clientId)) return new URL(clientId).host
  if (clientAuthMethod !== 'none' && clientName !== undefined) return clientName
  const { protocol, host } = new URL(redirectUri)
  if (protocol === 'http:') return 'a program on this computer'
  return protocol === 'https:' ? host : `the program for ${protocol}// addresses on this computer`
}

const unknownSignIn = (): Refusal =>
  new Refusal(
    400,
    'SIGN_IN_UNKNOWN',
    'this sign-in was not begun in this browser, or is over: begin it again in the program that you came from, with cookies allowed',
  )

const foreignForm = (): Refusal =>
  new Refusal(
    403,
    'CONSENT_FORBIDDEN',
    'only the page of this server allows a program: begin the sign-in again',
  )
