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

/** What has to be known of a sign-in when its answer comes. */
export interface Checks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** The tokens of somebody who signed in. */
export interface Tokens {
  /** Of the session, the same after a renewal. */
  readonly id: string
  readonly access: string
  readonly refresh?: string | undefined
  /** Milliseconds since the epoch. */
  readonly until: number
  /** As the ID token has it. */
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
// After metadata could not be read again.
const RETRY_AFTER = 30_000
// In seconds, as for the `iat` of access tokens.
const CLOCK_TOLERANCE = 60

/** The issuer where people sign in. Nothing is asked of it before the first sign-in. */
export class Issuer {
  /** Until a time of the monotonic clock. */
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

  /** Redeems the code of an answer, whose `iss` and `state` are compared before anything else of it is used. */
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

  /** So that a copy of the cookie is worth less (RFC 7009). An issuer without it has nothing to do. */
  async revoke(token: string): Promise<void> {
    const configuration = await this.configuration()
    if (configuration.serverMetadata().revocation_endpoint === undefined) return
    await tokenRevocation(configuration, token)
  }

  /** Where a person signs out of the issuer, if it has such a page. */
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
      // Renewals and sign-ins may still work with what was found before.
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
  // An ID token is verified by its signature too, not only by where it came from.
  enableNonRepudiationChecks(configuration)
  configuration[customFetch] = async (url, { method, headers, body, signal }) => {
    const form = body instanceof URLSearchParams || typeof body === 'string' ? { body } : {}
    const response = await fetch(url, { method, headers, signal: signal ?? null, ...form })
    // Of a response with a challenge openid-client reads nothing else, and the error is in its body.
    response.headers.delete('www-authenticate')
    return response
  }
  return configuration
}

/** Checks what a browser is sent to, and what the sign-in depends on. */
function usable(document: Readonly<Record<string, unknown>>): ServerMetadata {
  const server = document as Readonly<Record<string, unknown>> & ServerMetadata
  const { issuer, code_challenge_methods_supported: methods } = server
  for (const field of ['authorization_endpoint', 'token_endpoint', 'end_session_endpoint'] as const) {
    const url: unknown = server[field]
    if (url === undefined && field === 'end_session_endpoint') continue
    if (typeof url !== 'string' || !URL.canParse(url) || !isSafe(new URL(url)))
      throw unusable(issuer, `its metadata has no usable ${field}`)
  }
  // Some large issuers support PKCE without saying so.
  if (Array.isArray(methods) && !methods.includes('S256'))
    throw unusable(issuer, 'it does not support PKCE with S256')
  return server
}

const isSafe = (url: URL): boolean =>
  url.protocol === 'https:' || (url.protocol === 'http:' && (insecureHttpAllowed() || !isInsecure(url)))

const unusable = (issuer: string, what: string): UpstreamError =>
  new UpstreamError('SIGN_IN_UNSUPPORTED', `nobody can sign in at ${issuer}: ${what}`)

// RFC 8414, 2: without this field, Basic is supported. Not by openid-client, which encodes a dash as `%2D`: many
// issuers do not decode that.
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

/** The authenticators decide whether a token is still good. This only says when a new one is needed. */
function expiryOf(token: string): number {
  try {
    const { exp } = decodeJwt(token)
    if (exp !== undefined) return exp * 1000
  } catch {
    // It is no JWT.
  }
  return Date.now() + UNKNOWN_LIFETIME
}

const isName = (claim: unknown): claim is string => typeof claim === 'string' && claim.trim() !== ''
