import { decodeJwt } from 'jose/jwt/decode'
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  enableNonRepudiationChecks,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  type ServerMetadata,
  type TokenEndpointResponse,
  type TokenEndpointResponseHelpers,
  tokenRevocation,
} from 'openid-client'
import { type BegunLogin, type Fetch, type IssuerMetadata, UpstreamError } from 'sallyport'
import { insecureHttpAllowed, isInsecure, type Secret } from 'sallyport/toolkit'
import { z } from 'zod'
import { isEntra } from './known-providers.js'
import { authentication, standardResponse } from './token-endpoint.js'

/** The state of a sign-in that its callback needs. */
const Checks = z.object({ state: z.string(), nonce: z.string(), verifier: z.string() })

/** The response of the token endpoint to a code or a refresh token. */
export interface Redeemed {
  readonly access: string
  readonly refresh?: string | undefined
  readonly id?: string | undefined
  /** Milliseconds since the epoch, where the provider says it. */
  readonly expiresAt: number | undefined
  /** The claims of the ID token, if the response has one. */
  readonly claims: Readonly<Record<string, unknown>> | undefined
}

interface Dependencies {
  /** The provider, for messages. */
  readonly provider: string
  readonly clientId: string
  readonly scopes: readonly string[]
  /** The resource of each request (RFC 8707), if any. */
  readonly resource?: string | undefined
  /** Further parameters of the authorization request; none of these replaces one of the flow. */
  readonly authorizeParams?: Readonly<Record<string, string>>
  readonly fetch: Fetch
  readonly metadata: () => Promise<ServerMetadata>
  readonly secret: Secret | undefined
}

const METADATA_AGE = 600_000
// Milliseconds before the next attempt after a failed read of the metadata.
const RETRY_AFTER = 30_000
// Seconds, as for the `iat` of access tokens.
const CLOCK_TOLERANCE = 60

/** The authorization code flow with PKCE at one provider. The first sign-in makes the first request to it. */
export class CodeFlow {
  /** The time of the monotonic clock until which the metadata is valid. */
  private found: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined

  constructor(private readonly dependencies: Dependencies) {}

  /** The page of the provider where a person signs in. */
  async begin(redirectUri: string): Promise<BegunLogin> {
    const { scopes, authorizeParams } = this.dependencies
    const checks = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() }
    const configuration = await this.configuration()
    const { issuer } = configuration.serverMetadata()
    const url = buildAuthorizationUrl(configuration, {
      // OpenID Connect, 11: without it a provider ignores the request for a refresh token. Entra ID needs no
      // prompt for it, and with the prompt shows an error page where only an administrator may consent.
      ...(scopes.includes('offline_access') && !isEntra(issuer) && { prompt: 'consent' }),
      ...authorizeParams,
      redirect_uri: redirectUri,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      state: checks.state,
      code_challenge: await calculatePKCECodeChallenge(checks.verifier),
      code_challenge_method: 'S256',
      ...(this.isOpenId && { nonce: checks.nonce }),
      ...this.resource,
    })
    return { url: url.href, state: checks.state, checks: JSON.stringify(checks) }
  }

  /** Redeems the code of a callback. Compares `iss` and `state` before it uses any other parameter. */
  async redeem(query: string, begun: string, redirectUri: string): Promise<Redeemed> {
    const { state, nonce, verifier } = Checks.parse(JSON.parse(begun))
    const answer = new URL(redirectUri)
    answer.search = query
    const checks = {
      expectedState: state,
      pkceCodeVerifier: verifier,
      ...(this.isOpenId && { expectedNonce: nonce, idTokenExpected: true }),
    }
    return redeemed(await authorizationCodeGrant(await this.configuration(), answer, checks, this.resource))
  }

  async refresh(token: string): Promise<Redeemed> {
    const response = await refreshTokenGrant(await this.configuration(), token, this.resource)
    return { ...redeemed(response), refresh: response.refresh_token ?? token }
  }

  /** Revokes the token (RFC 7009), so that a copy of it is worth less. Does nothing without such an endpoint. */
  async revoke(token: string): Promise<void> {
    const configuration = await this.configuration()
    if (configuration.serverMetadata().revocation_endpoint === undefined) return
    await tokenRevocation(configuration, token)
  }

  /** The page at which a person signs out of the provider, if it has one. */
  async endSession(): Promise<string | undefined> {
    const configuration = await this.configuration()
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
    return buildEndSessionUrl(configuration).href
  }

  /** Where the provider says who a person is, if it does (OpenID Connect, 5.3). */
  async userinfoEndpoint(): Promise<string | undefined> {
    return (await this.configuration()).serverMetadata().userinfo_endpoint
  }

  private get isOpenId(): boolean {
    return this.dependencies.scopes.includes('openid')
  }

  private get resource(): Record<string, string> {
    const { resource } = this.dependencies
    return resource === undefined ? {} : { resource }
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
    const { clientId, secret, fetch, metadata } = this.dependencies
    return configurationOf(usable(await metadata()), clientId, secret, fetch)
  }
}

/** The metadata of an issuer, as the plugins of the list find it. */
export async function discovered(
  issuer: string,
  fetch: Fetch,
  plugins: readonly IssuerMetadata[],
): Promise<ServerMetadata> {
  for (const read of plugins) {
    const found = await read(issuer, fetch)
    if (found !== undefined) return found as ServerMetadata
  }
  throw unusable(issuer, 'no metadata was found for it')
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
    return standardResponse(response)
  }
  return configuration
}

/** Checks the URL to which browsers are redirected, and the features that the sign-in needs. */
function usable(server: ServerMetadata): ServerMetadata {
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

function redeemed(response: TokenEndpointResponse & TokenEndpointResponseHelpers): Redeemed {
  const { access_token: access, refresh_token: refresh, id_token: id, expires_in: seconds } = response
  const expiresAt = seconds === undefined ? expiryOf(access) : Date.now() + seconds * 1000
  return { access, refresh, id, expiresAt, claims: response.claims() }
}

/** When the token needs a renewal. The authenticators still decide whether it is valid. */
function expiryOf(token: string): number | undefined {
  try {
    const { exp } = decodeJwt(token)
    return exp === undefined ? undefined : exp * 1000
  } catch {
    // The token is not a JWT.
    return undefined
  }
}
