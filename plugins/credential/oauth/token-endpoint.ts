import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  customFetch,
  None,
  processGenericTokenEndpointResponse,
  ResponseBodyError,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { basicAuthorization, type Fetch, type RegisteredClient, UpstreamError } from 'sallyport'
import { z } from 'zod'
import { wordsOf } from './challenge.js'
import { type JsonDocument, textsIn } from './documents.js'
import { keyProof } from './key-proof.js'

/** What a token endpoint gave. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken?: string
  /** As it came. It signs nobody in here: whoever exchanges it judges it. */
  readonly idToken?: string
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number
  /** The scopes of the token, where they are not those that were asked for. */
  readonly scopes?: readonly string[]
}

export interface Grantee {
  readonly server: AuthorizationServer
  readonly client: RegisteredClient
  /** Goes with every request of tokens, so that each is for the same resource (RFC 8707). */
  readonly resource: string | undefined
}

/** Asks one issuer for tokens, always as the same client. */
export class TokenEndpoint {
  private readonly client: Client
  readonly authentication: ClientAuth

  constructor(
    private readonly grantee: Grantee,
    private readonly fetch: Fetch,
  ) {
    this.client = { client_id: grantee.client.clientId }
    this.authentication = authenticationOf(grantee)
  }

  code(
    parameters: URLSearchParams,
    redirectUri: string,
    verifier: string,
    signal: AbortSignal,
  ): Promise<Tokens> {
    const { client, authentication } = this
    return this.asked((server, options) =>
      authorizationCodeGrantRequest(server, client, authentication, parameters, redirectUri, verifier, {
        ...options,
        signal,
      }),
    )
  }

  refresh(refreshToken: string): Promise<Tokens> {
    const { client, authentication } = this
    return this.asked((server, options) =>
      refreshTokenGrantRequest(server, client, authentication, refreshToken, options),
    )
  }

  alone(scopes: readonly string[], signal: AbortSignal): Promise<Tokens> {
    const { client, authentication } = this
    const parameters = new URLSearchParams(this.extra())
    if (scopes.length > 0) parameters.set('scope', scopes.join(' '))
    return this.asked((server, options) =>
      clientCredentialsGrantRequest(server, client, authentication, parameters, { ...options, signal }),
    )
  }

  private async asked(
    ask: (server: AuthorizationServer, options: ReturnType<TokenEndpoint['options']>) => Promise<Response>,
  ): Promise<Tokens> {
    const { server } = this.grantee
    const response = await ask(server, this.options())
    const { answer, idToken } = await withoutIdToken(response)
    try {
      const told = await processGenericTokenEndpointResponse(server, this.client, answer)
      if (told.token_type !== 'bearer') throw new Error('the token is not a bearer token')
      return tokensFrom(told, idToken)
    } catch (error) {
      throw this.failure(error)
    }
  }

  private options() {
    return {
      // The way out judges the address itself, and is stricter than https alone.
      [allowInsecureRequests]: true,
      [customFetch]: (url: string, init: RequestInit) => this.fetch(url, init),
      additionalParameters: this.extra(),
    }
  }

  private extra(): Record<string, string> {
    const { resource } = this.grantee
    return resource === undefined ? {} : { resource }
  }

  /** What went wrong, as the caller may hear it. */
  failure(error: unknown): UpstreamError {
    const { server, resource } = this.grantee
    const code = error instanceof ResponseBodyError ? plain(error.error) : undefined
    const about = code === 'invalid_target' && resource !== undefined ? ` for the resource ${resource}` : ''
    const what = code ?? 'its answer is none that gives one'
    return new UpstreamError(
      `OAUTH_${(code ?? 'failed').toUpperCase()}`,
      `the issuer ${server.issuer} gives no token${about}: ${what}`,
      // Not the error itself: it holds the answer.
      { statusCode: 503, retryAfter: 5, cause: new Error(descriptionOf(error)) },
    )
  }
}

/** The tokens of an answer that was checked. */
export function tokensFrom(told: TokenEndpointResponse, idToken: string | undefined): Tokens {
  return {
    accessToken: told.access_token,
    ...(told.refresh_token !== undefined && { refreshToken: told.refresh_token }),
    ...(idToken !== undefined && { idToken }),
    ...(told.expires_in !== undefined && { expiresAt: Date.now() + told.expires_in * 1000 }),
    ...(told.scope !== undefined && { scopes: wordsOf(told.scope) }),
  }
}

/** How the client proves itself: as it was registered, else what the issuer takes, never in two ways at once. */
function authenticationOf({ server, client }: Grantee): ClientAuth {
  const { clientSecret: secret, clientKey: key, tokenEndpointAuthMethod: registered } = client
  if (key !== undefined) return keyProof(key)
  if (secret === undefined) return None()
  // RFC 8414, 2: what says nothing supports Basic.
  const supported = textsIn(server as JsonDocument, 'token_endpoint_auth_methods_supported') ?? [BASIC]
  const method = registered ?? [BASIC, POST, 'none'].find((each) => supported.includes(each)) ?? BASIC
  if (method === BASIC) return basic(client.clientId, secret)
  if (method === POST) return ClientSecretPost(secret)
  if (method === 'none') return None()
  throw new UpstreamError(
    'CLIENT_AUTHENTICATION_UNSUPPORTED',
    `the client at ${server.issuer} is to authenticate by ${plain(method)}: client_secret_basic, client_secret_post and none are supported`,
  )
}

/** By hand, as oauth4webapi writes `%2D` for a dash, and many issuers do not read that. */
const basic =
  (clientId: string, secret: string): ClientAuth =>
  (_server, _client, _body, headers) =>
    headers.set('authorization', basicAuthorization(clientId, secret))

const BASIC = 'client_secret_basic'
const POST = 'client_secret_post'

const withIdToken = z.looseObject({ id_token: z.string() })

/** Takes the ID token out, which may name an issuer that was never discovered, and a challenge that hides the error. */
async function withoutIdToken(response: Response): Promise<{ answer: Response; idToken?: string }> {
  const text = await response.text()
  const { status } = response
  const headers = { 'content-type': response.headers.get('content-type') ?? '' }
  const { data } = withIdToken.safeParse(jsonIn(text))
  if (data === undefined) return { answer: new Response(text, { status, headers }) }
  const { id_token: idToken, ...rest } = data
  return { answer: new Response(JSON.stringify(rest), { status, headers }), idToken }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function descriptionOf(error: unknown): string {
  if (error instanceof ResponseBodyError) return printable(error.error_description ?? error.error)
  return error instanceof Error ? error.message : 'unknown'
}

/** An error code as the standards write them, whatever a stranger put there. */
export const plain = (code: string): string => code.replaceAll(/[^\w.-]/g, '').slice(0, 60)

export const printable = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, ' ').slice(0, 300)
