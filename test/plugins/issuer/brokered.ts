import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import type {
  OAuthClientInformationFull,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import { decodeJwt } from 'jose'
import type { Entry, Identity, List } from 'sallyport'
import { mcpTarget } from 'sallyport/testing'
import { recordedLog, serving } from '#kit/booted.js'
import { folder } from '#kit/folder.js'
import { closedPort } from '#kit/listening.js'
import { PAGES, type RealPeople, realIssuer } from '#kit/oidc-provider.js'
import { Person } from '#kit/person.js'

export interface Wanted {
  readonly broker?: object
  readonly login?: object
  /** In place of `login/oidc`. */
  readonly provider?: Entry
  readonly people?: Partial<RealPeople>
  readonly state?: Entry
  readonly plugins?: readonly Entry[]
  /** The origin that clients know, where that is not the gateway's own. */
  readonly front?: string
}

/** A proxy whose callers sign in at its broker, and the broker's people at a real issuer that registers no client. */
export async function brokered(
  t: TestContext,
  { broker, login, provider, people, state, front, plugins = [] }: Wanted = {},
) {
  const address = new URL(await closedPort()).origin
  const origin = front ?? address
  const issuer = await realIssuer(t, {
    people: { redirectUri: `${origin}/oauth/callback`, name: 'Alice', refreshes: true, ...people },
  })
  const target = await mcpTarget(t)
  const resourceUrl = `${origin}/mcp`
  const home = folder(t, {})
  const list: List = [
    { use: 'listen/http', with: { address: new URL(address).host } },
    { use: 'discovery/issuer' },
    provider ?? {
      use: 'login/oidc',
      with: {
        issuerUrl: issuer.url,
        ...PAGES,
        scopes: ['openid', 'offline_access'],
        allowPrivateIP: true,
        ...login,
      },
    },
    state ?? { use: 'state/memory' },
    {
      use: 'issuer/broker',
      with: { resourceUrl, keyFile: './broker.key', scopes: ['tools'], claims: ['name'], ...broker },
    },
    { use: 'discovery/resource', with: { resource: resourceUrl, scopes: ['tools'] } },
    ...plugins,
    { use: 'forward/http', with: { target: target.url } },
  ]
  const { log, lines, scrubber } = recordedLog()
  const running = await serving(t, list, { folder: home, log, scrubber })
  return { origin, address, url: resourceUrl, issuer, target, lines, home, list, running }
}

export const REDIRECT = 'http://127.0.0.1:9/callback'

/** What an application keeps for the official client, which registers itself and sends a person to sign in. */
export class Application implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT
  readonly clientMetadata: OAuthClientMetadata = { redirect_uris: [REDIRECT], client_name: 'Test <b>' }
  readonly pages: string[] = []
  client: OAuthClientInformationFull | undefined
  saved: OAuthTokens | undefined
  code = ''
  private verifier = ''

  constructor(readonly person = new Person()) {}

  clientInformation = () => this.client
  saveClientInformation(client: OAuthClientInformationFull): void {
    this.client = client
  }
  tokens = () => this.saved
  saveTokens(tokens: OAuthTokens): void {
    this.saved = tokens
  }
  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier
  }
  codeVerifier = () => this.verifier
  async redirectToAuthorization(url: URL): Promise<void> {
    const end = await this.person.follow(url.href, (each) => each.startsWith(REDIRECT))
    this.code = new URL(end.url).searchParams.get('code') ?? ''
    if (this.code === '') throw new Error(`no code: ${end.url} ${end.status} ${end.body}`)
  }
}

export interface TokenAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: Readonly<Record<string, string | number | undefined>>
}

/** A client by hand, which may do each step in a wrong way. */
export class HandClient {
  readonly verifier = randomBytes(32).toString('base64url')
  id = ''

  constructor(
    readonly origin: string,
    readonly redirectUri = REDIRECT,
  ) {}

  async register(
    metadata: object = { redirect_uris: [this.redirectUri], client_name: 'By hand' },
  ): Promise<TokenAnswer> {
    const response = await fetch(`${this.origin}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(metadata),
    })
    const body = Object(await response.json())
    this.id = String(body.client_id ?? '')
    return { status: response.status, headers: response.headers, body }
  }

  /** Where a browser begins; a parameter that is undefined is left out. */
  authorizeUrl(changed: Readonly<Record<string, string | undefined>> = {}): string {
    const parameters = {
      client_id: this.id,
      redirect_uri: this.redirectUri,
      response_type: 'code',
      code_challenge: createHash('sha256').update(this.verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state: 'a state & more',
      resource: `${this.origin}/mcp`,
      ...changed,
    }
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value)
    return `${this.origin}/oauth/authorize?${query}`
  }

  /** The parameters with which the browser comes back to the client. */
  async signIn(
    person = new Person(),
    changed?: Readonly<Record<string, string | undefined>>,
  ): Promise<URLSearchParams> {
    const end = await person.follow(this.authorizeUrl(changed), (url) => url.startsWith(this.redirectUri))
    assert.ok(end.url.startsWith(this.redirectUri), `${end.url} ${end.status} ${end.body}`)
    return new URL(end.url).searchParams
  }

  async token(form: Readonly<Record<string, string>>, origin = this.origin): Promise<TokenAnswer> {
    const response = await fetch(`${origin}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: this.id, ...form }),
    })
    return { status: response.status, headers: response.headers, body: Object(await response.json()) }
  }

  redeem(code: string, changed: Readonly<Record<string, string>> = {}): Promise<TokenAnswer> {
    return this.token({
      grant_type: 'authorization_code',
      code,
      redirect_uri: this.redirectUri,
      code_verifier: this.verifier,
      ...changed,
    })
  }

  refresh(token: unknown): Promise<TokenAnswer> {
    return this.token({ grant_type: 'refresh_token', refresh_token: String(token) })
  }

  /** Registers, signs in, and redeems the code. */
  async tokens(person?: Person): Promise<TokenAnswer['body']> {
    await this.register()
    const answer = await this.redeem((await this.signIn(person)).get('code') ?? '')
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
}

const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}

/** The status of a call with this token. */
export async function calledWith(url: string, token: unknown): Promise<number> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: INITIALIZE }),
  })
  await response.body?.cancel()
  return response.status
}

/** The caller with this access token of a broker, as its authenticator establishes it. */
export function identityOf(token: unknown): Identity {
  const claims = decodeJwt(String(token))
  return {
    provider: 'broker',
    subject: String(claims.sub),
    issuer: String(claims.iss),
    claims: { ...claims },
  }
}

const realNow = Date.now

/** From now on it is so much later. */
export function later(t: TestContext, milliseconds: number): void {
  const { now } = Date
  t.after(() => {
    Date.now = realNow
  })
  Date.now = () => now() + milliseconds
}
