import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { TestContext } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import type { GrantContext } from 'oidc-provider'
import { opened } from './listening.js'

export interface RealIssuerOptions {
  readonly algorithm?: 'RS256' | 'ES256' | 'PS256' | 'EdDSA'
  readonly format?: 'jwt' | 'opaque'
  readonly tls?: { readonly key: string; readonly cert: string }
  /** Further grants, each with the function that handles its token requests. */
  readonly grants?: Readonly<Record<string, RealGrant>>
  /** A second client, `pages`, where people sign in by the provider's own forms, with any password. */
  readonly people?: RealPeople
}

export interface RealPeople {
  readonly redirectUri: string
  /** The name in their ID tokens. */
  readonly name?: string
  readonly refreshes?: boolean
  /** The audience of access tokens, instead of the registry. */
  readonly audience?: string
  /** The scopes that access tokens may have, instead of `read`. */
  readonly scopes?: string
  /** Seconds that an access token is valid; called for each. */
  readonly lifetime?: () => number
}

export interface RealGrant {
  readonly parameters: readonly string[]
  handle(context: GrantContext): Promise<void>
}

export interface RealIssuer {
  readonly url: string
  readonly introspectionUrl: string
  readonly client: { readonly clientId: string; readonly clientSecret: string }
  readonly audience: string
  /** A token that the provider issues to its client. */
  token(): Promise<string>
  /** Sends a token request as the client, and returns the response. */
  granted(form: Readonly<Record<string, string>>): Promise<Readonly<Record<string, unknown>>>
  revoke(token: string): Promise<void>
  /** Responses that replace the provider's own, by path. */
  readonly responses: Map<string, RequestListener>
  /** The method and path of each request. */
  readonly requests: string[]
}

const AUDIENCE = 'urn:example:registry'
/** The client of `people`. */
export const PAGES = { clientId: 'pages', clientSecret: 'the-secret-of-the-pages' }
const CLIENT = { clientId: 'registry', clientSecret: 'a secret: with % and +' }

/** Starts `oidc-provider` on loopback. Closed when the test ends. */
export async function realIssuer(t: TestContext, options: RealIssuerOptions = {}): Promise<RealIssuer> {
  const { algorithm = 'RS256', format = 'jwt', tls, grants = {} } = options
  const handler: { listener?: RequestListener } = {}
  const responses = new Map<string, RequestListener>()
  const requests: string[] = []
  const listener: RequestListener = (request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    requests.push(`${request.method} ${path}`)
    const respond = responses.get(path) ?? handler.listener
    respond?.(request, response)
  }
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  const { port } = await opened(t, server)
  const url = tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`

  // It prints development warnings on the console.
  for (const method of ['info', 'warn'] as const) t.mock.method(console, method, () => {})
  const { default: Provider } = await import('oidc-provider')
  const provider = new Provider(
    url,
    await configuration(algorithm, format, Object.keys(grants), options.people),
  )
  for (const [name, { handle, parameters }] of Object.entries(grants)) {
    provider.registerGrantType(name, handle, [...parameters])
  }
  handler.listener = provider.callback()

  const post = async (path: string, form: Readonly<Record<string, string>>) => {
    // Without checking the certificate, so that the tests need not trust a private authority.
    const pair = [CLIENT.clientId, CLIENT.clientSecret].map(encodeURIComponent).join(':')
    const { Agent, fetch } = await import('undici')
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` },
      body: new URLSearchParams(form),
      dispatcher: new Agent({ connect: { rejectUnauthorized: false } }),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.text()
  }
  return {
    url,
    introspectionUrl: `${url}/token/introspection`,
    client: CLIENT,
    audience: AUDIENCE,
    token: async () => {
      const answer: { access_token: string } = JSON.parse(
        await post('/token', { grant_type: 'client_credentials', resource: AUDIENCE, scope: 'read' }),
      )
      return answer.access_token
    },
    granted: async (form) => JSON.parse(await post('/token', form)),
    revoke: async (token) => void (await post('/token/revocation', { token })),
    responses,
    requests,
  }
}

async function configuration(
  algorithm: string,
  format: string,
  grants: readonly string[],
  people: RealPeople | undefined,
): Promise<object> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = { ...(await exportJWK(privateKey)), kid: 'signing', alg: algorithm, use: 'sig' }
  return {
    jwks: { keys: [jwk] },
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        id_token_signed_response_alg: algorithm,
        grant_types: ['client_credentials', ...grants],
        redirect_uris: [],
        response_types: [],
      },
      ...(people === undefined ? [] : [pagesClient(algorithm, people)]),
    ],
    ...(people !== undefined && {
      conformIdTokenClaims: false,
      claims: { openid: ['sub', 'name'] },
      findAccount: (_context: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, ...(people.name !== undefined && { name: people.name }) }),
      }),
      issueRefreshToken: () => people.refreshes === true,
    }),
    features: {
      devInteractions: { enabled: people !== undefined },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: people?.scopes ?? 'read',
          audience: people?.audience ?? AUDIENCE,
          accessTokenTTL: people?.lifetime?.() ?? 300,
          accessTokenFormat: format,
          ...(format === 'jwt' && { jwt: { sign: { alg: algorithm } } }),
        }),
      },
    },
  }
}

const pagesClient = (algorithm: string, { redirectUri }: RealPeople): object => ({
  client_id: PAGES.clientId,
  client_secret: PAGES.clientSecret,
  id_token_signed_response_alg: algorithm,
  grant_types: ['authorization_code', 'refresh_token'],
  redirect_uris: [redirectUri],
})
