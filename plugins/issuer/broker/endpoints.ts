import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { inject, type Response } from 'light-my-request'
import type Provider from 'oidc-provider'
import { type Log, Refusal } from 'sallyport'
import { digestOf, jsonObject, plainCode, plainText } from 'sallyport/toolkit'
import type { Bounds, OpenSignIns } from './bounds.js'
import type { BrowserBinding } from './browser-binding.js'
import type { Clients } from './clients.js'
import { COOKIES, pathOf, ROUTES } from './engine.js'
import type { SealedState } from './values.js'
import { failureView, sendPage } from './views.js'

interface Dependencies {
  readonly issuer: string
  readonly engine: Provider
  readonly clients: Clients
  readonly scopes: readonly string[]
  readonly state: SealedState
  readonly bounds: Bounds
  readonly open: OpenSignIns
  readonly binding: BrowserBinding
  readonly log: Log
}

const LONGEST_BODY = 64 * 1024
// Real clients refresh twice at once, and again after an answer that was lost.
const RETRY_SECONDS = 10
const REFRESHED = 'refreshed'

type Method = 'GET' | 'POST' | 'OPTIONS'

/** The endpoints that the engine answers. A request reaches it with the host of the issuer and with the cookies it needs. */
export class Endpoints {
  private readonly url: URL
  private readonly base: string
  private readonly callback: ReturnType<Provider['callback']>

  constructor(private readonly dependencies: Dependencies) {
    const { issuer, engine } = dependencies
    this.url = new URL(issuer)
    this.base = pathOf(issuer)
    this.callback = engine.callback()
  }

  /** The metadata documents, by the paths of RFC 8414, 3.1 and of OpenID Connect Discovery, 4. */
  installMetadata(root: FastifyInstance): void {
    const { base } = this
    const config = { public: true, anyOrigin: true }
    const paths = [
      `/.well-known/oauth-authorization-server${base}`,
      ...(base === '' ? ['/.well-known/openid-configuration'] : [`${base}/.well-known/openid-configuration`]),
    ]
    for (const path of paths) {
      root.get(path, { config }, (request, reply) => this.metadata(request, reply))
      root.options(path, { config }, (request, reply) => this.metadata(request, reply))
    }
  }

  private async metadata(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const response = await this.ask(request, { url: '/.well-known/oauth-authorization-server' })
    const document = jsonObject(response.payload)
    if (document === undefined) return answer(reply, response)
    // The engine names only scopes of its own: those of a resource it learns with each request.
    const scopes = [...this.dependencies.scopes, 'offline_access']
    return answer(reply, { ...response, payload: JSON.stringify({ ...document, scopes_supported: scopes }) })
  }

  async install(http: FastifyInstance): Promise<void> {
    await http.register(async (scoped) => {
      scoped.removeContentTypeParser('application/json')
      scoped.addContentTypeParser(
        ['application/x-www-form-urlencoded', 'application/json'],
        { parseAs: 'string', bodyLimit: LONGEST_BODY },
        (_request, body, done) => done(null, body),
      )
      const config = { public: true }
      // Programs in browsers use these without cookies.
      const open = { public: true, anyOrigin: true }
      scoped.get(ROUTES.authorization, { config }, (request, reply) => this.authorize(request, reply))
      scoped.get(`${ROUTES.authorization}/:uid`, { config }, (request, reply) => this.resume(request, reply))
      scoped.post(ROUTES.token, { config: open }, (request, reply) => this.token(request, reply))
      scoped.post(ROUTES.revocation, { config: open }, (request, reply) => this.revoke(request, reply))
      scoped.get(ROUTES.jwks, { config: open }, (request, reply) => this.pass(request, reply))
      for (const path of [ROUTES.token, ROUTES.revocation, ROUTES.jwks])
        scoped.options(path, { config: open }, (request, reply) => this.pass(request, reply))
      scoped.post(ROUTES.registration, { config: open }, (request, reply) => this.register(request, reply))
      if (!this.dependencies.clients.isRegistrationOpen) return
      scoped.options(ROUTES.registration, { config: open }, (_request, reply) =>
        withOpenCors(reply)
          .header('access-control-allow-methods', 'POST')
          .header('access-control-allow-headers', 'content-type')
          .header('access-control-max-age', 3600)
          .code(204)
          .send(),
      )
    })
  }

  private async authorize(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { bounds } = this.dependencies
    bounds.spend('authorization', request)
    const query = this.withKnownScopes(request.url)
    if (/^https:/i.test(query.get('client_id') ?? '')) bounds.spend('document', request)
    const response = await this.ask(request, { url: `${ROUTES.authorization}?${query}` })
    return this.shown(request, reply, response)
  }

  /** Unknown scopes are ignored, and without any the client gets those of the resource: without one it would get no token. */
  private withKnownScopes(url: string): URLSearchParams {
    const { scopes } = this.dependencies
    const at = url.indexOf('?')
    const query = new URLSearchParams(at === -1 ? '' : url.slice(at))
    const known = new Set([...scopes, 'openid', 'offline_access'])
    const asked = (query.get('scope') ?? '').split(' ').filter((scope) => known.has(scope))
    const hasResourceScope = asked.some((scope) => scope !== 'offline_access')
    const missing = scopes.length > 0 ? scopes : ['openid']
    query.set('scope', [...asked, ...(hasResourceScope ? [] : missing)].join(' '))
    return query
  }

  /** The engine sees no cookie of another sign-in: two at once in a browser do not disturb each other. */
  private async resume(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const cookies = (request.headers.cookie ?? '')
      .split(';')
      .filter(
        (pair) =>
          pair.trim().startsWith(`${COOKIES.resume}=`) || pair.trim().startsWith(`${COOKIES.resume}.sig=`),
      )
    const response = await this.ask(request, { url: this.pathIn(request), cookie: cookies.join(';') })
    return this.shown(request, reply, response)
  }

  /** A person looks at the response: what cannot go back to the client is a page. */
  private shown(request: FastifyRequest, reply: FastifyReply, response: Response): FastifyReply {
    if (response.statusCode < 400) {
      const { open, binding } = this.dependencies
      const uid = /\/oauth\/consent\/([\w-]+)$/.exec(String(response.headers.location ?? ''))?.[1]
      if (uid === undefined) return answer(reply, response)
      open.add(uid, request)
      return answer(reply.header('set-cookie', binding.cookies(request, uid)), response)
    }
    const { error, error_description: description } = jsonObject(response.payload) ?? {}
    const code = plainCode(typeof error === 'string' ? error : 'server_error')
    const failure = {
      status: response.statusCode,
      code,
      sentence: `this server cannot sign you in: ${plainText(typeof description === 'string' ? description : code)}`,
      advice: ADVICE[code] ?? 'Begin the sign-in again in the program that you came from.',
    }
    return sendPage(reply, failure.status, 'Not signed in', failureView(failure, request.id))
  }

  private async register(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { bounds, clients } = this.dependencies
    withOpenCors(reply).header('cache-control', 'no-store')
    if (!clients.isRegistrationOpen)
      throw new Refusal(404, 'REGISTRATION_CLOSED', 'no client registers here: its operator gives client IDs')
    bounds.spend('registration', request)
    const metadata = clients.admitted(typeof request.body === 'string' ? jsonObject(request.body) : undefined)
    const body = JSON.stringify(metadata)
    const response = await this.ask(request, { body, contentType: 'application/json' })
    return answer(reply, response)
  }

  private async token(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { bounds } = this.dependencies
    bounds.check('failed token request', request)
    const body = textOf(request.body)
    const form = new URLSearchParams(body)
    const refreshToken = form.get('grant_type') === 'refresh_token' ? form.get('refresh_token') : null
    const response =
      refreshToken === null
        ? await this.ask(request, { body })
        : await this.refreshed(request, body, `${refreshToken} ${form.get('client_id')} ${form.get('scope')}`)
    if (response.statusCode >= 400 && response.statusCode < 500) bounds.count('failed token request', request)
    return answer(reply, response)
  }

  /** Within some seconds the same request gets the same answer, so that a retry does not end the session. */
  private async refreshed(request: FastifyRequest, body: string, asked: string): Promise<Answer> {
    const { state } = this.dependencies
    const id = digestOf(`${asked} ${request.headers.authorization ?? ''}`)
    return state.locked(REFRESHED, id, async () => {
      const whole = digestOf(body)
      const before = await state.get(REFRESHED, id)
      if (before !== undefined) {
        const { whole: asked, ...given } = before
        const refusal = asked === whole ? undefined : await this.unproven(request, body)
        return refusal ?? (given as unknown as Answer)
      }
      const { statusCode, headers, payload } = await this.ask(request, { body })
      const response = { statusCode, headers: { ...headers }, payload }
      if (statusCode === 200) await state.set(REFRESHED, id, { ...response, whole }, RETRY_SECONDS)
      return response
    })
  }

  /** The refusal of a client that does not prove itself: the engine looks at its secret or assertion for any request. */
  private async unproven(request: FastifyRequest, body: string): Promise<Answer | undefined> {
    const response = await this.ask(request, { url: ROUTES.revocation, body: `${body}&token=none` })
    return response.statusCode === 200 ? undefined : response
  }

  /** Each one counts: it can read a document, try a secret, and store the ID of an assertion. */
  private async revoke(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    this.dependencies.bounds.spend('revocation', request)
    return this.pass(request, reply)
  }

  private async pass(
    request: FastifyRequest,
    reply: FastifyReply,
    asked: Partial<Asked> = {},
  ): Promise<FastifyReply> {
    return answer(reply, await this.ask(request, { body: textOf(request.body), ...asked }))
  }

  private ask(
    request: FastifyRequest,
    { url, body, cookie, contentType }: Partial<Asked>,
  ): Promise<Response> {
    const { authorization, origin, accept } = request.headers
    const type = contentType ?? request.headers['content-type']
    const asked = request.headers['access-control-request-method']
    const listener: Parameters<typeof inject>[0] = (incoming, outgoing) => {
      // The engine makes its addresses of this.
      Object.assign(incoming, { originalUrl: this.base + (incoming.url ?? '') })
      this.callback(incoming, outgoing)
    }
    return inject(listener, {
      method: request.method as Method,
      url: url ?? this.pathIn(request),
      headers: {
        host: this.url.host,
        'x-forwarded-proto': this.url.protocol.slice(0, -1),
        ...(authorization !== undefined && { authorization }),
        ...(origin !== undefined && { origin }),
        ...(asked !== undefined && { 'access-control-request-method': asked }),
        ...(cookie !== undefined && { cookie }),
        ...(body !== undefined && body !== '' && { 'content-type': type ?? '' }),
        accept: accept ?? 'application/json',
      },
      ...(body !== undefined && body !== '' && { payload: body }),
    })
  }

  /** The path below the scope, with its query. */
  private pathIn({ url }: FastifyRequest): string {
    return url.startsWith(this.base) ? url.slice(this.base.length) : url
  }
}

const ADVICE: Readonly<Record<string, string>> = {
  invalid_client:
    'This server does not know the program, or no longer. Let it forget this server and connect again: then it registers anew.',
  server_error: 'If it stays so, ask the operator of this server.',
}

interface Asked {
  readonly url: string
  readonly body: string
  readonly cookie: string
  readonly contentType: string
}

type Answer = Pick<Response, 'statusCode' | 'headers' | 'payload'>

const textOf = (body: unknown): string => (typeof body === 'string' ? body : '')

const withOpenCors = (reply: FastifyReply): FastifyReply => reply.header('access-control-allow-origin', '*')

// The gateway writes these itself.
const FRAMING: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
])

function answer(reply: FastifyReply, { statusCode, headers, payload }: Answer): FastifyReply {
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || FRAMING.has(name)) continue
    if (name === 'set-cookie') for (const cookie of cookiesFor(value)) reply.header(name, cookie)
    else reply.header(name, value)
  }
  return reply.code(statusCode).send(payload)
}

const cookiesFor = (value: string | number | readonly string[]): readonly string[] =>
  (typeof value === 'object' ? value : [String(value)]).filter(
    (cookie) => !cookie.startsWith(`${COOKIES.session}=`) && !cookie.startsWith(`${COOKIES.session}.sig=`),
  )
