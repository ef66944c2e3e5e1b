import { type JsonWebKey, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose'
import { reallyWait } from './fake-clock.js'
import { opened } from './listening.js'

type Claims = Readonly<Record<string, unknown>>

export interface IssuerOptions {
  /** Follows the origin in the issuer's URL: `/tenant`, or a lone slash. */
  readonly path?: string
  readonly algorithm?: string
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** The paths that an issuer serves. */
export interface IssuerPaths {
  readonly discovery: string
  readonly keys: string
  readonly introspection: string
  readonly token: string
}

/** A request that an issuer or a target received. */
export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/**
 * Starts an issuer on loopback that the test controls: it signs with new keys (`rotate`), is slow (`slowness`),
 * responds wrongly (`faults`), or publishes other metadata (`metadata`). Closed when the test ends.
 */
export async function issuing(t: TestContext, options: IssuerOptions = {}): Promise<Issuer> {
  const { path = '', algorithm = 'ES256', tls } = options
  const issuer = new Issuer(path, algorithm)
  const server = tls === undefined ? createServer(issuer.listener) : createTlsServer(tls, issuer.listener)
  const { port } = await opened(t, server, issuer.connections)
  issuer.origin = tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`
  await issuer.rotate('first')
  return issuer
}

/** The issuer that `issuing` starts. */
export class Issuer {
  origin = ''
  readonly audience = 'registry'
  /** Every request, in the order of arrival. */
  readonly asked: ReceivedRequest[] = []
  readonly connections = new Set<Socket>()
  /** The keys that are published. */
  keys: JsonWebKey[] = []
  /** Headers of the response with the keys. */
  keyHeaders: Readonly<Record<string, string>> = {}
  /** Members that the test changes or adds in the discovery document. */
  metadata: Claims = {}
  /** Responses that replace the usual ones, by path: `issuer.faults.set(issuer.paths.keys, tooManyRequests(30))`. */
  readonly faults = new Map<string, RequestListener>()
  /** The paths that it serves, for `faults` and `times`. */
  readonly paths: IssuerPaths
  /** Milliseconds of real time before each response. */
  slowness = 0
  /** Decides what the token endpoint grants for a form: the claims of the token, or an `error`. */
  grant: (form: URLSearchParams) => Claims = (form) => ({ sub: form.get('client_id') ?? 'client' })
  private readonly answers = new Map<string, Claims>()
  private signer: { readonly kid: string; readonly key: CryptoKey } | undefined

  constructor(
    private readonly path: string,
    readonly algorithm: string,
  ) {
    this.paths = {
      discovery: `${path.replace(/\/$/, '')}/.well-known/openid-configuration`,
      keys: '/jwks',
      introspection: '/introspect',
      token: '/token',
    }
  }

  get url(): string {
    return this.origin + this.path
  }

  get introspectionUrl(): string {
    return this.origin + this.paths.introspection
  }

  get tokenUrl(): string {
    return this.origin + this.paths.token
  }

  /** The settings of a provider that trusts this issuer. */
  get provider() {
    return { name: 'corp', issuerUrl: this.url, audience: this.audience, allowPrivateIP: true }
  }

  /** How many requests came for this path. */
  times(path: string): number {
    return this.asked.filter((asked) => asked.path === path).length
  }

  /** Signs with a new key from now on. The keys before it stay published unless `alone`. */
  async rotate(kid: string, { alone = false } = {}): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(this.algorithm, { extractable: true })
    const published = { ...(await exportJWK(publicKey)), kid, alg: this.algorithm, use: 'sig' }
    this.keys = alone ? [published] : [...this.keys, published]
    this.signer = { kid, key: privateKey }
  }

  /** Valid claims with these changed; `undefined` removes a claim. */
  claims(changed: Claims = {}): Claims {
    const now = Math.floor(Date.now() / 1000)
    const good = { iss: this.url, aud: this.audience, sub: 'somebody', iat: now, exp: now + 300, ...changed }
    return Object.fromEntries(Object.entries(good).filter(([, value]) => value !== undefined))
  }

  /** A token, signed with the newest key. */
  async jwt(changed: Claims = {}, header: Claims = {}): Promise<string> {
    const { kid, key } = this.signer ?? {}
    if (key === undefined) throw new Error('this issuer has no key yet')
    const protectedHeader = { alg: this.algorithm, kid, ...header } as JWTHeaderParameters
    return new SignJWT({ ...this.claims(changed) }).setProtectedHeader(protectedHeader).sign(key)
  }

  /** A token that only introspection can check. */
  opaque(changed: Claims = {}): string {
    const token = randomBytes(24).toString('base64url')
    this.setIntrospection(token, { active: true, ...this.claims(changed) })
    return token
  }

  /** Sets the response of introspection for a token. Every other token is inactive. */
  setIntrospection(token: string, answer: Claims): void {
    this.answers.set(token, answer)
  }

  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      this.asked.push({ method, path, headers, body })
      const fault = this.faults.get(path)
      if (fault !== undefined) fault(request, response)
      else if (this.slowness === 0) void this.answer(path, body, response)
      else void reallyWait(this.slowness).then(() => this.answer(path, body, response))
    })
  }

  private async answer(path: string, body: string, response: ServerResponse): Promise<void> {
    const { discovery, keys, introspection, token } = this.paths
    const form = new URLSearchParams(body)
    if (path === discovery) {
      const endpoints = { jwks_uri: this.origin + keys, token_endpoint: this.tokenUrl }
      sendJson(response, { issuer: this.url, ...endpoints, ...this.metadata })
    } else if (path === keys) sendJson(response, { keys: this.keys }, this.keyHeaders)
    else if (path === introspection)
      sendJson(response, this.answers.get(form.get('token') ?? '') ?? { active: false })
    else if (path === token) await this.answerGrant(form, response)
    else response.writeHead(404).end()
  }

  private async answerGrant(form: URLSearchParams, response: ServerResponse): Promise<void> {
    const granted = this.grant(form)
    if ('error' in granted) return sendJson(response, granted, {}, 400)
    const claims = this.claims(granted)
    const lifetime = Number(claims['exp']) - Math.floor(Date.now() / 1000)
    const issued_token_type = 'urn:ietf:params:oauth:token-type:access_token'
    const exchanged = form.get('grant_type')?.endsWith('token-exchange') && { issued_token_type }
    const access_token = await this.jwt(granted)
    sendJson(response, { access_token, token_type: 'Bearer', expires_in: lifetime, ...exchanged })
  }
}

function sendJson(
  response: ServerResponse,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}
