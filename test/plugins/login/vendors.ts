import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { ConfigError, type Entry, IssuerMetadata, type List, type Login, LoginProvider } from 'sallyport'
import { listening, recordedLog } from 'sallyport/testing'
import { booted } from '#kit/booted.js'
import { plugin, providing } from '#kit/plugin.js'

export const REDIRECT_URI = 'https://mcp.example.com/oauth/callback'
export const CLIENT = { clientId: 'gateway-client', clientSecret: 'the-secret-of-the-gateway' }

type Json = Readonly<Record<string, unknown>>

/** The behaviour of a vendor that a fake has. */
export interface Habits {
  /** The issuer in ID tokens; a vendor without one gives no ID token. */
  readonly issuer?: string
  /** Changed fields of its metadata; `undefined` removes one. */
  readonly metadata?: Json
  /** An error in place of a code, for the parameters of an authorization request. */
  readonly refuses?: (query: URLSearchParams) => Json | undefined
  /** The members of a token response besides the access token. */
  readonly gives?: (query: URLSearchParams) => Json
  /** The status of errors of the token endpoint. */
  readonly errorStatus?: number
  /** Token responses that are no form where the client accepts JSON, or a form for every client. */
  readonly answers?: 'json' | 'form'
  /** The errors of an unknown code, and of an unknown refresh token. */
  readonly errors?: readonly [code: string, refresh: string]
  /** The responses at these paths to a good access token. */
  readonly described?: Readonly<Record<string, () => unknown>>
  /** Of the ID token, at each request. */
  readonly claims?: () => Json
}

interface Sent {
  readonly path: string
  readonly form: URLSearchParams
  readonly headers: IncomingMessage['headers']
}

/** The authorization server of a large provider, as far as a login uses it; it signs every browser in at once. */
export class Vendor {
  origin = ''
  readonly asked: Sent[] = []
  private readonly codes = new Map<string, URLSearchParams>()
  readonly accessTokens = new Set<string>()
  readonly refreshTokens = new Map<string, URLSearchParams>()
  private key: CryptoKey | undefined
  private jwk: object = {}

  constructor(private readonly habits: Habits) {}

  async open(t: TestContext): Promise<this> {
    const { publicKey, privateKey } = await generateKeyPair('RS256')
    this.key = privateKey
    this.jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
    this.origin = await listening(t, (request, response) => void this.answer(request, response))
    return this
  }

  /** Discovery at the vendor's own address, which leads here. */
  get metadata(): Entry {
    const { issuer = '' } = this.habits
    const document = {
      issuer,
      authorization_endpoint: `${this.origin}/authorize`,
      token_endpoint: `${this.origin}/token`,
      jwks_uri: `${this.origin}/keys`,
      userinfo_endpoint: `${this.origin}/userinfo`,
      response_types_supported: ['code'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
      ...this.habits.metadata,
    }
    return providing('metadata', IssuerMetadata, async (asked) => (asked === issuer ? document : undefined))
  }

  /** The query with which the browser comes back from this page of the vendor. */
  readonly signIn = async (page: string): Promise<string> => {
    const response = await fetch(`${this.origin}/authorize${new URL(page).search}`, { redirect: 'manual' })
    const location = response.headers.get('location')
    if (location === null) throw new Error(`${response.status} ${await response.text()}`)
    return new URL(location).search
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', this.origin)
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const form = request.method === 'POST' ? new URLSearchParams(body) : query
    this.asked.push({ path, form, headers: request.headers })
    if (path === '/keys') return send(response, { keys: [this.jwk] })
    if (path === '/authorize') return this.authorize(query, response)
    if (path === '/token') return this.token(form, request, response)
    return this.describe(path, request, response)
  }

  private authorize(query: URLSearchParams, response: ServerResponse) {
    if (query.get('redirect_uri') !== REDIRECT_URI) return send(response, { error: 'redirect_uri' }, 400)
    const refused = this.habits.refuses?.(query)
    const code = randomBytes(12).toString('hex')
    this.codes.set(code, query)
    const answer = new URLSearchParams({ state: query.get('state') ?? '', ...(refused ?? { code }) })
    response.writeHead(302, { location: `${REDIRECT_URI}?${answer}` }).end()
  }

  private async token(form: URLSearchParams, { headers }: IncomingMessage, response: ServerResponse) {
    const { errorStatus = 400, answers = 'json', errors = ['invalid_grant', 'invalid_grant'] } = this.habits
    const asForm = answers === 'form' || headers.accept !== 'application/json'
    const refuse = (error: string): void => send(response, { error }, errorStatus, asForm)
    if (!isClient(form, headers.authorization)) return refuse('invalid_client')
    const isRefresh = form.get('grant_type') === 'refresh_token'
    const query = isRefresh
      ? this.refreshTokens.get(form.get('refresh_token') ?? '')
      : this.codes.get(form.get('code') ?? '')
    this.codes.delete(form.get('code') ?? '')
    const isProven =
      isRefresh || query?.get('code_challenge') === challengeOf(form.get('code_verifier') ?? '')
    if (query === undefined || !isProven) return refuse(errors[isRefresh ? 1 : 0])
    const refused = this.habits.refuses?.(form)
    if (refused !== undefined) return send(response, refused, errorStatus, asForm)
    const access = randomBytes(12).toString('hex')
    this.accessTokens.add(access)
    const { refresh_token: refresh, ...given } = this.habits.gives?.(query) ?? {}
    if (typeof refresh === 'string') this.refreshTokens.set(refresh, query)
    const id = await this.idToken(query)
    const tokens = { access_token: access, token_type: 'bearer', ...given, ...(id && { id_token: id }) }
    send(response, { ...tokens, ...(refresh !== undefined && { refresh_token: refresh }) }, 200, asForm)
  }

  private async idToken(query: URLSearchParams): Promise<string | undefined> {
    const { issuer, claims } = this.habits
    if (issuer === undefined || this.key === undefined) return undefined
    const nonce = query.get('nonce') ?? undefined
    return new SignJWT({
      iss: issuer,
      aud: CLIENT.clientId,
      nonce,
      exp: Math.floor(Date.now() / 1000) + 300,
      ...claims?.(),
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setIssuedAt()
      .sign(this.key)
  }

  /** As api.github.com does: a program that does not name itself is refused. */
  private describe(path: string, { headers }: IncomingMessage, response: ServerResponse) {
    const found = this.habits.described?.[path]
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
    if (headers['user-agent'] === undefined) return send(response, { message: 'name the program' }, 403)
    if (!this.accessTokens.has(token)) return send(response, { message: 'Bad credentials' }, 401)
    if (found === undefined) return send(response, { message: 'Not Found' }, 404)
    return send(response, found())
  }
}

function isClient(form: URLSearchParams, authorization = ''): boolean {
  const { clientId, clientSecret } = CLIENT
  const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`
  return (
    authorization === basic ||
    (form.get('client_id') === clientId && form.get('client_secret') === clientSecret)
  )
}

const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

function send(response: ServerResponse, value: unknown, status = 200, asForm = false): void {
  const type = asForm ? 'application/x-www-form-urlencoded' : 'application/json'
  const body = asForm ? String(new URLSearchParams(Object(value))) : JSON.stringify(value)
  response.writeHead(status, { 'content-type': type }).end(body)
}

/** The login of a list, and the log of that list. */
export async function loginOf(t: TestContext, list: List) {
  const { log, lines, scrubber } = recordedLog()
  let login: (() => LoginProvider) | undefined
  const asking = plugin('asking', (gateway) => (login = gateway.use(LoginProvider)), {
    requires: [LoginProvider],
  })
  await booted(t, [...list, asking], { log, scrubber })
  const provider = (login as unknown as () => LoginProvider)()
  const signIn = async (vendor: Vendor): Promise<Login> => {
    const { url, checks } = await provider.begin(REDIRECT_URI)
    return provider.finish(await vendor.signIn(url), checks, REDIRECT_URI)
  }
  return { provider, signIn, lines }
}

export type Problem = readonly [place: string, advice: RegExp]

/** The start is refused for these options of the first entry, all reported at once. */
export async function refuses(t: TestContext, list: List, expected: readonly Problem[]): Promise<void> {
  const problems = await booted(t, list).then(
    () => [],
    (error: unknown) => (error instanceof ConfigError ? error.problems : assert.fail(String(error))),
  )
  const found = problems.map(({ place }) =>
    place.replace(/^plugins\[0\]\.with\.?| ?\(.*\)$|^plugin ".*": /g, ''),
  )
  assert.deepEqual(
    found,
    expected.map(([place]) => place),
    JSON.stringify(problems),
  )
  for (const [index, [, advice]] of expected.entries()) assert.match(problems[index]?.message ?? '', advice)
}
