import {
  allowInsecureRequests,
  type ClientAuth,
  Configuration,
  customFetch,
  initiateDeviceAuthorization,
  pollDeviceAuthorizationGrant,
} from 'openid-client'
import { type Fetch, UpstreamError } from 'sallyport'
import { browserUrl } from './browser.js'
import { tellPerson } from './person.js'
import { type Grantee, printable, type TokenEndpoint, type Tokens, tokensFrom } from './token-endpoint.js'

interface Flow {
  readonly grantee: Grantee
  readonly endpoint: TokenEndpoint
  readonly scopes: readonly string[]
  readonly fetch: Fetch
  readonly signal: AbortSignal
}

/** One login on another device (RFC 8628): a person types a code there, and this asks until it was done. */
export async function deviceFlow(flow: Flow): Promise<Tokens> {
  const { grantee, endpoint, scopes, signal } = flow
  const { server, resource } = grantee
  if (server.device_authorization_endpoint === undefined) {
    throw new UpstreamError(
      'DEVICE_FLOW_UNSUPPORTED',
      `the issuer ${server.issuer} has no sign-in on another device`,
    )
  }
  const extra: Record<string, string> = resource === undefined ? {} : { resource }
  const asked = scopes.length === 0 ? extra : { ...extra, scope: scopes.join(' ') }
  const configuration = configured(flow)
  try {
    const begun = await initiateDeviceAuthorization(configuration, asked)
    const page = browserUrl(begun.verification_uri_complete ?? begun.verification_uri, server.issuer)
    tellPerson(`Open this URL to sign in: ${page.href}`)
    tellPerson(`and enter the code: ${printable(begun.user_code)}`)
    const told = await pollDeviceAuthorizationGrant(configuration, begun, extra, { signal })
    return tokensFrom(told, told.id_token)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof UpstreamError) throw error
    const { cause } = error instanceof Error ? error : {}
    throw endpoint.failure(cause instanceof Error ? cause : error)
  }
}

function configured({ grantee, endpoint, fetch }: Flow): Configuration {
  const { server, client } = grantee
  const authentication: ClientAuth = (...request) => void endpoint.authentication(...request)
  const configuration = new Configuration(server, client.clientId, undefined, authentication)
  // The way out judges the address itself, and is stricter than https alone.
  allowInsecureRequests(configuration)
  configuration[customFetch] = (url, { method, headers, body, signal }) => {
    const form = body instanceof URLSearchParams || typeof body === 'string' ? { body } : {}
    return fetch(url, { method, headers, signal: signal ?? null, ...form })
  }
  return configuration
}
