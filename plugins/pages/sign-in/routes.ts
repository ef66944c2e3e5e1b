import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Gateway, Refusal } from 'sallyport'
import {
  ConcurrencyLimit,
  type Html,
  html,
  isJsonObject,
  type LogThrottle,
  plainCode,
} from 'sallyport/toolkit'
import type { PendingSignIns } from '#plugins/login/browser/pending.js'
import type { CodeFlow, Redeemed } from '#plugins/login/flow/code-flow.js'
import { busy, CONTACT, type Failure, failureOf, unknownSignIn } from '#plugins/login/flow/failures.js'
import { page, withPageHeaders } from '../layout.js'
import { redirectUri, type SignInOptions } from './options.js'
import { type Sessions, sessionOf } from './sessions.js'

interface Dependencies {
  readonly gateway: Gateway
  readonly options: SignInOptions
  readonly flow: CodeFlow
  readonly sessions: Sessions
  readonly pending: PendingSignIns
  readonly throttle: LogThrottle
}

/** The routes of signing in and out. */
export class SignInRoutes {
  private readonly origin: string
  private readonly redirectUri: string
  // Any client can begin a sign-in and send a forged callback for it.
  private readonly limit = new ConcurrencyLimit()

  constructor(private readonly dependencies: Dependencies) {
    const { options, gateway } = dependencies
    this.origin = new URL(options.resourceUrl).origin
    this.redirectUri = redirectUri(options, gateway.scope)
  }

  install(): void {
    const { http } = this.dependencies.gateway
    const config = { public: true }
    http.get('/sign-in', { config }, (request, reply) => this.begin(request, reply))
    http.get('/sign-in/callback', { config }, (request, reply) => this.finish(request, reply))
    // An internal route, which shows whether the registry accepts a token.
    http.get('/sign-in/token', (_request, reply) => reply.code(204).send())
    const signOut = (request: FastifyRequest, reply: FastifyReply) => this.signOut(request, reply)
    // Runs before Fastify parses the body: the form has none, whatever its content type says.
    http.post('/sign-out', { config, onRequest: signOut }, signOut)
    http.get('/signed-out', { config: { public: true, session: true } }, (request, reply) =>
      this.signedOut(request, reply),
    )
  }

  private async begin(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { gateway, flow, pending } = this.dependencies
    const returnTo = returnAddress(queryOf(request)['return'], this.origin, gateway.scope)
    try {
      const { url, state, checks } = await flow.begin(this.redirectUri)
      return unstored(reply)
        .header('set-cookie', await pending.add(request, { state, checks, returnTo }))
        .redirect(url, 303)
    } catch (error) {
      return this.failed(request, reply, this.failureOf(error), returnTo)
    }
  }

  private async finish(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { gateway, options } = this.dependencies
    const release = await this.limit.acquire(request.clientAddress)
    if (release === undefined)
      return this.failed(request, reply, busy(options.issuerUrl), `${gateway.scope}/`)
    try {
      return await this.answered(request, reply)
    } finally {
      release()
    }
  }

  private async answered(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { flow, pending } = this.dependencies
    const { begun, cookies } = await pending.take(request, queryOf(request)['state'])
    if (begun === undefined) {
      const failure = this.failureOf(unknownSignIn(this.origin))
      return this.failed(request, reply, failure, `${this.dependencies.gateway.scope}/`)
    }
    // A sign-in has one callback, successful or not.
    reply.header('set-cookie', cookies)
    const { returnTo } = begun
    try {
      const query = request.url.slice(request.url.indexOf('?'))
      const redeemed = await flow.redeem(query, begun.checks, this.redirectUri)
      const session = await this.session(redeemed, request)
      if ('code' in session) return await this.failed(request, reply, session, returnTo)
      return unstored(reply)
        .header('set-cookie', session.cookies)
        .redirect(this.origin + returnTo, 303)
    } catch (error) {
      return this.failed(request, reply, this.failureOf(error), returnTo)
    }
  }

  /**
   * Runs the authenticators before it creates a session, so that a refused person is not sent to the issuer in
   * circles.
   */
  private async session(
    redeemed: Redeemed,
    { headers: { host } }: FastifyRequest,
  ): Promise<Failure | { readonly cookies: readonly string[] }> {
    const { gateway, sessions, options } = this.dependencies
    const { statusCode, body } = await gateway.dispatch({
      url: `${gateway.scope}/sign-in/token`,
      headers: { authorization: `Bearer ${redeemed.access}`, ...(host !== undefined && { host }) },
    })
    if (statusCode !== 204) return refusedToken(statusCode, codeIn(body), options.issuerUrl)
    const cookies = await sessions.cookies(sessionOf(redeemed))
    return cookies === undefined ? tooLarge(options.issuerUrl) : { cookies }
  }

  private async signOut(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { gateway, flow, sessions, throttle } = this.dependencies
    if (!this.isOwn(request)) {
      throw new Refusal(403, 'SIGN_OUT_FORBIDDEN', 'only a page of this gateway signs out')
    }
    const session = await sessions.read(request)
    if (session !== undefined) {
      await sessions.end(session)
      // The session has ended whatever the issuer does, so the browser does not wait.
      const revoked = sessions.latest(session).then(({ refresh, access }) => flow.revoke(refresh ?? access))
      revoked.catch((error: unknown) => {
        const { code, status, cause } = this.failureOf(error)
        const message = 'the token of a session could not be revoked'
        throttle.write(gateway.log, 'info', message, { code, status }, { cause })
      })
    }
    return unstored(reply)
      .header('set-cookie', sessions.remove())
      .redirect(`${gateway.scope}/signed-out`, 303)
  }

  /** Browsers without `Sec-Fetch-Site` send `Origin`; a request with neither is not from our page. */
  private isOwn({ headers }: FastifyRequest): boolean {
    const site = headers['sec-fetch-site']
    return site === undefined ? headers.origin === this.origin : site === 'same-origin'
  }

  private async signedOut(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { gateway, flow, sessions, options } = this.dependencies
    const home = `${gateway.scope}/`
    if (request.identity !== undefined) return unstored(reply).redirect(home, 303)
    // Without the metadata the page lacks only the link.
    const endSession = await flow.endSession().catch(() => undefined)
    const view = signedOutView(sessions.signInPath(home), options.issuerUrl, endSession)
    return this.send(reply, 200, 'Signed out', view)
  }

  private failed(
    request: FastifyRequest,
    reply: FastifyReply,
    failure: Failure,
    returnTo: string,
  ): FastifyReply {
    const { gateway, sessions, throttle } = this.dependencies
    const { status, code, sentence, cause, retryAfter } = failure
    // Any client may send a callback without a sign-in.
    const level = status === 400 ? 'debug' : 'warn'
    const extra = { reason: sentence, cause, requestId: request.id }
    throttle.write(gateway.log, level, 'nobody was signed in', { code, status }, extra)
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
    const view = failureView(failure, sessions.signInPath(returnTo), request.id)
    return this.send(reply, status, 'Not signed in', view)
  }

  private send(reply: FastifyReply, status: number, title: string, content: Html): FastifyReply {
    const { scope } = this.dependencies.gateway
    return unstored(withPageHeaders(reply, true))
      .code(status)
      .send(String(page(scope, title, content)))
  }

  private failureOf(error: unknown): Failure {
    return failureOf(error, this.dependencies.options.issuerUrl)
  }
}

/** Caches must not store these responses: their URLs have codes and states, and their cookies are for one browser. */
const unstored = (reply: FastifyReply): FastifyReply =>
  reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer')

const queryOf = ({ query }: FastifyRequest): Readonly<Record<string, unknown>> =>
  isJsonObject(query) ? query : {}

function codeIn(body: string): string {
  try {
    const { error } = JSON.parse(body)
    return typeof error === 'string' ? error : ''
  } catch {
    return ''
  }
}

const LONGEST = 1_000

/**
 * The page after the sign-in: a path of this gateway with its query, else the home page. The result is in the form to
 * which a browser normalizes it, so that a browser cannot read it in another way later.
 */
export function returnAddress(asked: unknown, origin: string, scope: string): string {
  const home = `${scope}/`
  // Printable ASCII without a backslash, which browsers read as a slash. Other characters are escaped in a URL anyway.
  if (typeof asked !== 'string' || !/^\/[\x21-\x5b\x5d-\x7e]*$/.test(asked)) return home
  if (asked.length > LONGEST || !URL.canParse(asked, origin)) return home
  const { origin: named, pathname, search } = new URL(asked, origin)
  // `/.//evil` is resolved to `//evil`.
  const isOwn = named === origin && !pathname.startsWith('//') && pathname.startsWith(home)
  return isOwn && !CIRCLES.test(pathname.slice(scope.length)) ? pathname + search : home
}

// The sign-in pages themselves, also with an escape in their name.
const CIRCLES = /^\/(?:sign-in|sign-out|signed-out|[^/]*%[^/]*)(?:\/|$)/

const failureView = (
  { status, code, sentence, advice }: Failure,
  again: string,
  requestId: string,
): Html => html`<h1>You are not signed in</h1>
<p>${sentence}.</p>
<p>${advice}</p>
<p><a href="${again}">Try again</a></p>
<p class="quiet">Status ${status}, <code>${code}</code>, request ${requestId}</p>`

const signedOutView = (
  again: string,
  issuer: string,
  endSession: string | undefined,
): Html => html`<h1>You are signed out</h1>
${
  endSession !== undefined &&
  html`<p>You may still be signed in at ${issuer}: <a href="${endSession}" rel="noreferrer">sign out there too</a>.</p>`
}
<p><a href="${again}">Sign in</a></p>`

const refusedToken = (status: number, code: string, issuer: string): Failure => ({
  status: status === 503 ? 503 : 403,
  code: 'token_refused',
  sentence: `${issuer} signed you in, but the registry does not accept the token that it gave: ${plainCode(code)}`,
  advice: ADVICE[code] ?? ADVICE['invalid_token'] ?? CONTACT,
  ...(status === 503 && { retryAfter: 5 }),
})

const ADVICE: Readonly<Record<string, string>> = {
  invalid_token:
    'The operator of this registry finds the cause in its log. Often the issuer has to be told to give this client tokens for the audience of the registry.',
  insufficient_scope:
    'The token lacks a scope that the registry needs. The operator of this registry adds it to the scopes of signIn, and allows it to the client at the issuer.',
  authentication_unavailable: 'The token cannot be checked right now. Try again in a moment.',
  authentication_busy: 'Too many tokens are being checked right now. Try again in a moment.',
}

const tooLarge = (issuer: string): Failure => ({
  status: 502,
  code: 'session_too_large',
  sentence: `the tokens of ${issuer} are too large for cookies`,
  advice: 'The operator of this registry asks for fewer claims or groups in the token, or for fewer scopes.',
})
