import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from '#kit/listening.js'

type Fields = Readonly<Record<string, unknown>>

/** A request that the server received. */
export interface RecordedRequest {
  readonly path: string
  readonly query: URLSearchParams
  readonly form: URLSearchParams
  readonly body: string
  readonly headers: IncomingMessage['headers']
}

interface Grant {
  readonly challenge: string
  readonly redirectUri: string
  readonly scope: string
}

/**
 * A target and its authorization server at one loopback origin. It behaves as the test sets it, and enforces the
 * protocol.
 */
export class AuthorizationServer {
  origin = ''
  readonly seen: RecordedRequest[] = []
  /** Overrides fields of the metadata documents; `undefined` removes one. */
  metadata: Fields = {}
  resource: Fields = {}
  registration: Fields = {}
  /** Overrides parameters of the authorization response. */
  callback: Readonly<Record<string, string | undefined>> = {}
  documentPath = '/.well-known/oauth-authorization-server'
  /** The challenge of the target. */
  challenge: string | undefined
  /** The scope that the target requires; without it, a token gets a 403. */
  neededScope: string | undefined
  /** Overrides the verification URI of the device flow. */
  activation: string | undefined
  /** Whether the previous refresh token is accepted once more, as many issuers do for a while. */
  repeatsRefresh = false
  /** Runs when a refresh was granted, before the response is sent. */
  onRefresh: (() => unknown) | undefined
  /** Paths that are a 404. */
  readonly missing = new Set<string>()
  /** Lifetime of a token in seconds. */
  life = 3600
  /** Responses of the token endpoint that are sent before any other. */
  readonly tokenFaults: ((response: ServerResponse) => void)[] = []
  /** Whether the user has entered the code. */
  private activated = false
  private readonly grants = new Map<string, Grant>()
  private readonly tokens = new Map<string, { end: number; scope: string }>()
  private family = { alive: '', before: '', scope: '', used: new Set<string>() }

  get target(): string {
    return `${this.origin}/mcp`
  }

  times(path: string): number {
    return this.at(path).length
  }

  at(path: string): readonly RecordedRequest[] {
    return this.seen.filter((seen) => seen.path === path)
  }

  /** How many tokens were requested with this grant. */
  grantsOf(type: string): number {
    return this.at('/token').filter(({ form }) => form.get('grant_type') === type).length
  }

  /** Invalidates all access tokens. */
  revokeTokens(): void {
    this.tokens.clear()
  }

  /** Invalidates all refresh tokens. */
  revokeGrant(): void {
    this.family = { alive: '', before: '', scope: '', used: new Set() }
  }

  readonly listener = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', this.origin)
    let body = ''
    for await (const chunk of request) body += chunk
    const path = url.pathname
    const seen = {
      path,
      query: url.searchParams,
      form: new URLSearchParams(body),
      body,
      headers: request.headers,
    }
    this.seen.push(seen)
    const { issuer } = { issuer: this.origin, ...this.metadata }
    if (this.missing.has(path)) sendJson(response, 404, {})
    else if (path === '/mcp') this.serve(seen, response)
    else if (path === '/.well-known/oauth-protected-resource/mcp') {
      sendJson(response, 200, { resource: this.target, authorization_servers: [issuer], ...this.resource })
    } else if (path === this.documentPath) sendJson(response, 200, this.document())
    else if (path === '/register') this.register(seen, response)
    else if (path === '/authorize') this.authorize(seen, response)
    else if (path === '/token') this.token(seen, response)
    else if (path === '/device') {
      sendJson(response, 200, {
        device_code: 'canary-device-code',
        user_code: 'WDJB-MJHT',
        verification_uri: this.activation ?? `${this.origin}/activate`,
        expires_in: 60,
        interval: 1,
      })
    } else if (path === '/activate') {
      this.activated = true
      response.end()
    } else sendJson(response, 404, {})
  }

  private document(): Fields {
    return {
      issuer: this.origin,
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: `${this.origin}/token`,
      registration_endpoint: `${this.origin}/register`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
      ...this.metadata,
    }
  }

  private serve({ headers }: RecordedRequest, response: ServerResponse): void {
    const token = this.tokens.get(headers.authorization?.replace('Bearer ', '') ?? '')
    if (token === undefined || token.end < Date.now()) {
      const place = `${this.origin}/.well-known/oauth-protected-resource/mcp`
      const challenge = this.challenge ?? `Bearer realm="x", resource_metadata="${place}"`
      response.setHeader('www-authenticate', challenge)
      sendJson(response, 401, { error: 'no token' })
    } else if (this.neededScope !== undefined && !token.scope.split(' ').includes(this.neededScope)) {
      response.setHeader('www-authenticate', `Bearer error="insufficient_scope", scope="${this.neededScope}"`)
      sendJson(response, 403, { error: 'scope' })
    } else sendJson(response, 200, { authorization: headers.authorization })
  }

  private register({ body }: RecordedRequest, response: ServerResponse): void {
    sendJson(response, 201, { ...JSON.parse(body), client_id: 'registered', ...this.registration })
  }

  private authorize({ query }: RecordedRequest, response: ServerResponse): void {
    const code = randomBytes(12).toString('hex')
    const redirectUri = query.get('redirect_uri') ?? ''
    const challenge = query.get('code_challenge') ?? ''
    this.grants.set(code, { challenge, redirectUri, scope: query.get('scope') ?? '' })
    const back = new URL(redirectUri)
    const state = query.get('state') ?? undefined
    for (const [name, value] of Object.entries({ code, state, ...this.callback })) {
      if (value !== undefined) back.searchParams.set(name, value)
    }
    response.writeHead(302, { location: back.href }).end()
  }

  private token({ form }: RecordedRequest, response: ServerResponse): void {
    const fault = this.tokenFaults.shift()
    const type = form.get('grant_type')
    if (fault !== undefined) fault(response)
    else if (type === 'client_credentials') this.issue(response, form.get('scope') ?? '', false)
    else if (type?.endsWith(':device_code') === true) {
      if (this.activated) this.issue(response, form.get('scope') ?? '', true)
      else sendJson(response, 400, { error: 'authorization_pending' })
    } else if (type === 'refresh_token') this.refresh(form.get('refresh_token') ?? '', response)
    else this.redeem(form, response)
  }

  private redeem(form: URLSearchParams, response: ServerResponse): void {
    const code = form.get('code') ?? ''
    const grant = this.grants.get(code)
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (grant?.challenge === proof && grant.redirectUri === form.get('redirect_uri')) {
      this.grants.delete(code)
      this.issue(response, grant.scope, true)
    } else sendJson(response, 400, { error: 'invalid_grant' })
  }

  /** A reused refresh token ends the whole family, as RFC 9700 asks. */
  private refresh(token: string, response: ServerResponse): void {
    const isRepeat = this.repeatsRefresh && token === this.family.before
    if (this.family.used.has(token) && !isRepeat) this.revokeGrant()
    if (token === '' || (token !== this.family.alive && !isRepeat)) {
      sendJson(response, 400, { error: 'invalid_grant' })
      return
    }
    this.family.used.add(token)
    this.family.before = token
    const issue = (): void => this.issue(response, this.family.scope, true)
    Promise.resolve(this.onRefresh?.()).then(issue, issue)
  }

  private issue(response: ServerResponse, scope: string, refreshable: boolean): void {
    const [access, refresh] = [randomBytes(16).toString('hex'), randomBytes(16).toString('hex')]
    this.tokens.set(access, { end: Date.now() + this.life * 1000, scope })
    if (refreshable) Object.assign(this.family, { alive: refresh, scope })
    const token = { access_token: access, token_type: 'bearer', expires_in: this.life }
    sendJson(response, 200, refreshable ? { ...token, refresh_token: refresh } : token)
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

export async function startAuthorizationServer(t: TestContext): Promise<AuthorizationServer> {
  const server = new AuthorizationServer()
  server.origin = await listening(t, (request, response) => void server.listener(request, response))
  return server
}
