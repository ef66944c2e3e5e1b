import { randomUUID } from 'node:crypto'
import { decodeJwt } from 'jose/jwt/decode'
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type ClientAuth,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  enableNonRepudiationChecks,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  type ServerMetadata,
  type TokenEndpointResponse,
  tokenRevocation,
} from 'openid-client'
import { type Fetch, type IssuerMetadata, UpstreamError } from 'sallyport'
import { basicAuthorization, insecureHttpAllowed, isInsecure, type Secret } from 'sallyport/toolkit'
import type { SignInOptions } from './options.js'

/** The state of a sign-in that its callback needs. */
export interface Checks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** The tokens of a signed-in person. */
export interface Tokens {
  /** The ID of the session, the same after a renewal. */
  readonly id: string
  readonly access: string
  readonly refresh?: string | undefined
  /** Milliseconds since the epoch. */
  readonly until: number
  /** The name from the ID token. */
  readonly name?: string | undefined
}

interface Dependencies {
  readonly options: SignInOptions
  readonly redirectUri: string
  readonly fetch: Fetch
  readonly metadata: () => readonly IssuerMetadata[]
  readonly secret: Secret | undefined
}

const LONGEST_NAME = 100
const METADATA_AGE = 600_000
// Milliseconds before the next attempt after a failed read of the metadata.
const RETRY_AFTER = 30_000
// Seconds, as for the `iat` of access tokens.
const CLOCK_TOLERANCE = 60

/** The issuer where people sign in. The gateway sends it no request before the first sign-in. */
export class Issuer {
  /** The time of the monotonic clock until which the metadata is valid. */
  private found: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined

  constructor(private readonly dependencies: Dependencies) {}

  /** The page of the issuer where a person signs in. */
  async begin(): Promise<{ readonly url: URL; readonly checks: Checks }> {
    const { options, redirectUri } = this.dependencies
    const checks = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
    const url = buildAuthorizationUrl(await this.configuration(), {
      redirect_uri: redirectUri,
      scope: options.scopes.join(' '),
      state: checks.state,
      code_challenge: await calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
      ...(this.isOpenId && { nonce: checks.nonce }),
      // OpenID Connect, 11: without it an issuer ignores the request for a refresh token.
      ...(options.scopes.includes('offline_access') && { prompt: 'consent' }),
      ...this.resource,
    })
    return { url, checks }
  }

  /** Redeems the code of a callback. Compares `iss` and `state` before it uses any other parameter. */
  async redeem(query: string, { state, nonce, verifier }: Checks): Promise<Tokens> {
    const answer = new URL(this.dependencies.redirectUri)
    answer.search = query
    const checks = {
      expectedState: state,
      pkceCodeVerifier: verifier,
      ...(this.isOpenId && { expectedNonce: nonce, idTokenExpected: true }),
    }
    const response = await authorizationCodeGrant(await this.configuration(), answer, checks, this.resource)
    const claims = response.claims()
    const name = [claims?.['name'], claims?.['preferred_username'], claims?.['email']].find(isName)
    return { ...tokensOf(response), id: randomUUID(), name: name?.slice(0, LONGEST_NAME) }
  }

  async refresh({ refresh = '', id, name }: Tokens): Promise<Tokens> {
    const response = await refreshTokenGrant(await this.configuration(), refresh, this.resource)
    return { refresh, id, name, ...tokensOf(response) }
  }

  /**
   * Revokes the token (RFC 7009), so that a copy of the cookie is worth less. Does nothing without such an endpoint.
   */
  async revoke(token: string): Promise<void> {
    const configuration = await this.configuration()
    if (configuration.serverMetadata().revocation_endpoint === undefined) return
    await tokenRevocation(configuration, token)
  }

  /** The page at which a person signs out of the issuer, if it has one. */
  async endSession(): Promise<string | undefined> {
    const configuration = await this.configuration()
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
    return buildEndSessionUrl(configuration).href
  }

  private get isOpenId(): boolean {
    return this.dependencies.options.scopes.includes('openid')
  }

  private get resource(): Record<string, string> {
    const { resource, resourceUrl } = this.dependencies.options
    return resource === '' ? {} : { resource: resource ?? resourceUrl }
  }

  private configuration(): Promise<Configuration> {
    const old = this.found
    if (old !== undefined && old.until > performance.now()) return old.configuration
    const configuration = this.discover().catch((error: unknown) => {
      // Renewals and sign-ins may still work with the old metadata.
      this.found = old && { ...old, until: performance.now() + RETRY_AFTER }
      if (old === undefined) throw error
      return old.configuration
    })
    this.found = { configuration, until: performance.now() + METADATA_AGE }
    return configuration
  }

  private async discover(): Promise<Configuration> {
    const { options, fetch, metadata, secret } = this.dependencies
    for (const read of metadata()) {
      const server = await read(options.issuerUrl, fetch)
      if (server === undefined) continue
      return configurationOf(usable(server), options.clientId, secret, fetch)
    }
    throw unusable(options.issuerUrl, 'no metadata was found for it')
  }
}

function configurationOf(
  server: ServerMetadata,
  clientId: string,
  secret: Secret | undefined,
  fetch: Fetch,
): Configuration {
  const configuration = new Configuration(
    server,
    clientId,
    { [clockTolerance]: CLOCK_TOLERANCE },
    authentication(server, clientId, secret),
  )
  // The fetcher checks the address itself, and more strictly than https alone.
  allowInsecureRequests(configuration)
  // Verifies the signature of an ID token too, although it came directly from the issuer over TLS.
  enableNonRepudiationChecks(configuration)
  configuration[customFetch] = async (url, { method, headers, body, signal }) => {
    const form = body instanceof URLSearchParams || typeof body === 'string' ? { body } : {}
    const response = await fetch(url, { method, headers, signal: signal ?? null, ...form })
    // From a response with a challenge openid-client reads only the challenge, but the error is in the body.
    response.headers.delete('www-authenticate')
    return response
  }
  return configuration
}

/** Checks the URL to which browsers are redirected, and the features that the sign-in needs. */
function usable(document: Readonly<Record<string, unknown>>): ServerMetadata {
  const server = document as Readonly<Record<string, unknown>> & ServerMetadata
  const { issuer, code_challenge_methods_supported: methods } = server
  for (const field of ['authorization_endpoint', 'token_endpoint', 'end_session_endpoint'] as const) {
    const url: unknown = server[field]
    if (url === undefined && field === 'end_session_endpoint') continue
    if (typeof url !== 'string' || !URL.canParse(url) || !isSafe(new URL(url)))
      throw unusable(issuer, `its metadata has no usable ${field}`)
  }
  // Some large issuers support PKCE without listing it.
  if (Array.isArray(methods) && !methods.includes('S256'))
    throw unusable(issuer, 'it does not support PKCE with S256')
  return server
}

const isSafe = (url: URL): boolean =>
  url.protocol === 'https:' || (url.protocol === 'http:' && (insecureHttpAllowed() || !isInsecure(url)))

const unusable = (issuer: string, what: string): UpstreamError =>
  new UpstreamError('SIGN_IN_UNSUPPORTED', `nobody can sign in at ${issuer}: ${what}`)

// RFC 8414, section 2: without this field, Basic is supported. Not used through openid-client, which encodes a dash as
// `%2D`: many issuers do not decode that.
function authentication(server: ServerMetadata, clientId: string, secret: Secret | undefined): ClientAuth {
  if (secret === undefined) return None()
  const supported = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  const posts = !supported.includes('client_secret_basic') && supported.includes('client_secret_post')
  return (...request) => {
    const [, , , headers] = request
    if (posts) ClientSecretPost(secret.reveal())(...request)
    else headers.set('authorization', basicAuthorization(clientId, secret.reveal()))
  }
}

function tokensOf(response: TokenEndpointResponse): Omit<Tokens, 'id'> {
  const { access_token: access, refresh_token: refresh, expires_in: seconds } = response
  const until = seconds === undefined ? expiryOf(access) : Date.now() + seconds * 1000
  return { access, until, ...(refresh !== undefined && { refresh }) }
}

const UNKNOWN_LIFETIME = 3_600_000

/** When the token needs a renewal. The authenticators still decide whether it is valid. */
function expiryOf(token: string): number {
  try {
    const { exp } = decodeJwt(token)
    if (exp !== undefined) return exp * 1000
  } catch {
    // The token is not a JWT.
  }
  return Date.now() + UNKNOWN_LIFETIME
}

const isName = (claim: unknown): claim is string => typeof claim === 'string' && claim.trim() !== ''
