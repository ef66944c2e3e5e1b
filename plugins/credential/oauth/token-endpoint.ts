import { createPrivateKey, type KeyObject } from 'node:crypto'
import { importPKCS8 } from 'jose/key/import'
import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  type ClientAuth,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  customFetch,
  type DeviceAuthorizationResponse,
  deviceAuthorizationRequest,
  deviceCodeGrantRequest,
  None,
  PrivateKeyJwt,
  processDeviceAuthorizationResponse,
  processGenericTokenEndpointResponse,
  ResponseBodyError,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
} from 'oauth4webapi'
import { type Fetch, type RegisteredClient, UpstreamError } from 'sallyport'
import { basicAuthorization, type JsonObject, jsonObject, plainCode, plainText } from 'sallyport/toolkit'
import { scopesIn } from './challenge.js'
import { textsIn } from './documents.js'

const TOKEN = /^[\x21-\x7e]+$/

/** The tokens of a token response. */
export interface Tokens {
  readonly accessToken: string
  readonly refreshToken?: string
  /** Not verified: the gateway only passes it to the server that exchanges it, which verifies it. */
  readonly idToken?: string
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number
  /** The scopes of the token, where they differ from the requested ones. */
  readonly scopes?: readonly string[]
}

export interface GrantContext {
  readonly server: AuthorizationServer
  readonly client: RegisteredClient
  /** Sent with every token request, so that each token is for this resource (RFC 8707). */
  readonly resource: string | undefined
}

/**
 * Requests tokens at one issuer, as one client. By oauth4webapi: openid-client would also verify the ID token of a
 * response, which the gateway does not use and whose issuer may be another.
 */
export class TokenEndpoint {
  private readonly client: Client
  private readonly authentication: ClientAuth

  constructor(
    private readonly context: GrantContext,
    private readonly fetch: Fetch,
  ) {
    this.client = { client_id: context.client.clientId }
    this.authentication = authenticationOf(context)
  }

  authorizationCode(
    parameters: URLSearchParams,
    redirectUri: string,
    verifier: string,
    signal: AbortSignal,
  ): Promise<Tokens> {
    const { client, authentication } = this
    return this.request((server, options) =>
      authorizationCodeGrantRequest(server, client, authentication, parameters, redirectUri, verifier, {
        ...options,
        signal,
      }),
    )
  }

  refresh(refreshToken: string): Promise<Tokens> {
    const { client, authentication } = this
    return this.request((server, options) =>
      refreshTokenGrantRequest(server, client, authentication, refreshToken, options),
    )
  }

  clientCredentials(scopes: readonly string[], signal: AbortSignal): Promise<Tokens> {
    const { client, authentication } = this
    const parameters = this.parametersFor(scopes)
    return this.request((server, options) =>
      clientCredentialsGrantRequest(server, client, authentication, parameters, { ...options, signal }),
    )
  }

  /** The code that a user has to enter (RFC 8628, 3.2). */
  async deviceAuthorization(
    scopes: readonly string[],
    signal: AbortSignal,
  ): Promise<DeviceAuthorizationResponse> {
    const { client, authentication } = this
    const { server } = this.context
    const options = { ...this.options(), signal }
    const sent = deviceAuthorizationRequest(
      server,
      client,
      authentication,
      this.parametersFor(scopes),
      options,
    )
    const { response } = await splitIdToken(await sent)
    try {
      return await processDeviceAuthorizationResponse(server, client, response)
    } catch (error) {
      throw this.failure(error)
    }
  }

  deviceCode(code: string, signal: AbortSignal): Promise<Tokens> {
    const { client, authentication } = this
    return this.request((server, options) =>
      deviceCodeGrantRequest(server, client, authentication, code, { ...options, signal }),
    )
  }

  private async request(
    send: (server: AuthorizationServer, options: ReturnType<TokenEndpoint['options']>) => Promise<Response>,
  ): Promise<Tokens> {
    const { server } = this.context
    const { response, idToken } = await splitIdToken(await send(server, this.options()))
    if (response.status >= 500 || response.status === 429) throw this.unavailable(response.status)
    try {
      const fields = await processGenericTokenEndpointResponse(server, this.client, response)
      if (fields.token_type !== 'bearer') throw new Error('the token is not a bearer token')
      if (!TOKEN.test(fields.access_token)) throw new Error('the token cannot be sent in a header')
      return tokensFrom(fields, idToken)
    } catch (error) {
      throw this.failure(error)
    }
  }

  private options() {
    return {
      // The fetcher checks the address itself, and more strictly than https alone.
      [allowInsecureRequests]: true,
      [customFetch]: (url: string, init: RequestInit) => this.fetch(url, init),
      additionalParameters: this.resourceParameter(),
    }
  }

  private parametersFor(scopes: readonly string[]): URLSearchParams {
    const parameters = new URLSearchParams(this.resourceParameter())
    if (scopes.length > 0) parameters.set('scope', scopes.join(' '))
    return parameters
  }

  private resourceParameter(): Record<string, string> {
    const { resource } = this.context
    return resource === undefined ? {} : { resource }
  }

  // The code is the one that RFC 6749, 4.1.2.1 defines for a response without a status.
  private unavailable(status: number): UpstreamError {
    return this.error('temporarily_unavailable', `: status ${status}`)
  }

  private failure(error: unknown): UpstreamError {
    const { resource } = this.context
    const code = error instanceof ResponseBodyError ? plainCode(error.error) : undefined
    const about = code === 'invalid_target' && resource !== undefined ? ` for the resource ${resource}` : ''
    // Not the error itself: it holds the response.
    const cause = new Error(descriptionOf(error))
    return this.error(code ?? 'failed', `${about}: ${code ?? 'the response is not valid'}`, cause)
  }

  /** The error for the caller. */
  private error(code: string, why: string, cause?: Error): UpstreamError {
    const message = `the issuer ${this.context.server.issuer} issued no token${why}`
    return new UpstreamError(`OAUTH_${code.toUpperCase()}`, message, {
      statusCode: 503,
      retryAfter: 5,
      ...(cause !== undefined && { cause }),
    })
  }
}

/** The tokens of a validated response. */
function tokensFrom(response: TokenEndpointResponse, idToken: string | undefined): Tokens {
  const { expires_in: expiresIn = 0 } = response
  return {
    accessToken: response.access_token,
    ...(response.refresh_token !== undefined && { refreshToken: response.refresh_token }),
    ...(idToken !== undefined && { idToken }),
    // Issuers write 0 for a token that does not expire.
    ...(expiresIn > 0 && { expiresAt: Date.now() + expiresIn * 1000 }),
    ...(response.scope !== undefined && { scopes: scopesIn(response.scope) }),
  }
}

/** The client's authentication method: as registered, else one that the issuer supports, never two at once. */
function authenticationOf({ server, client }: GrantContext): ClientAuth {
  const { clientSecret: secret, clientKey: key, tokenEndpointAuthMethod: registered } = client
  if (key !== undefined) return privateKeyJwt(key)
  if (secret === undefined) return None()
  // RFC 8414, 2: without this field, Basic is supported.
  const supported = textsIn(server as JsonObject, 'token_endpoint_auth_methods_supported') ?? [BASIC]
  const method = registered ?? [BASIC, POST, 'none'].find((each) => supported.includes(each)) ?? BASIC
  if (method === BASIC) return basic(client.clientId, secret)
  if (method === POST) return ClientSecretPost(secret)
  if (method === 'none') return None()
  throw new UpstreamError(
    'CLIENT_AUTHENTICATION_UNSUPPORTED',
    `the client at ${server.issuer} is registered for ${plainCode(method)}: expected client_secret_basic, client_secret_post or none`,
  )
}

/** Not by oauth4webapi, which encodes a dash as `%2D`: many issuers do not decode that. */
const basic =
  (clientId: string, secret: string): ClientAuth =>
  (_server, _client, _body, headers) =>
    headers.set('authorization', basicAuthorization(clientId, secret))

const BASIC = 'client_secret_basic'
const POST = 'client_secret_post'

/**
 * Splits off the ID token, whose issuer may differ from the server's, and drops a challenge that would hide the error.
 * It drops fields that are null or empty too: many servers write absent fields so. Some, such as GitHub, send errors
 * with status 200.
 */
async function splitIdToken(original: Response): Promise<{ response: Response; idToken?: string }> {
  const text = await original.text()
  const { status } = original
  const headers = { 'content-type': original.headers.get('content-type') ?? '' }
  const found = jsonObject(text)
  if (found === undefined) return { response: new Response(text, { status, headers }) }
  const present = Object.entries(found).filter(([, value]) => value !== null && value !== '')
  const { id_token: idToken, ...rest } = Object.fromEntries(present)
  const isError = typeof rest['error'] === 'string' && rest['access_token'] === undefined
  const init = { status: isError && status === 200 ? 400 : status, headers }
  const response = new Response(JSON.stringify(rest), init)
  return typeof idToken === 'string' ? { response, idToken } : { response }
}

function descriptionOf(error: unknown): string {
  if (error instanceof ResponseBodyError) return plainText(error.error_description ?? error.error)
  return error instanceof Error ? error.message : 'unknown'
}

const ALGORITHM_OF_CURVE: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
}

/**
 * Authenticates a client by `private_key_jwt` (RFC 7523, 2.2): an assertion is valid for a minute, at this issuer
 * alone.
 */
function privateKeyJwt(pem: string): ClientAuth {
  const key = createPrivateKey(pem)
  const pkcs8 = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const signing = importPKCS8(pkcs8, algorithmOf(key))
  // The caller that awaits `signing` gets the error.
  signing.catch(() => {})
  return async (server, client, body, headers) => PrivateKeyJwt(await signing)(server, client, body, headers)
}

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails }: KeyObject): string {
  if (type === 'ec') return ALGORITHM_OF_CURVE[asymmetricKeyDetails?.namedCurve ?? ''] ?? 'ES256'
  if (type === 'ed25519') return 'Ed25519'
  return type === 'rsa-pss' ? 'PS256' : 'RS256'
}
