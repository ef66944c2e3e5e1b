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
import { promptUser } from './prompt.js'
import {
  type GrantContext,
  printable,
  type TokenEndpoint,
  type Tokens,
  tokensFrom,
} from './token-endpoint.js'

interface Flow {
  readonly context: GrantContext
  readonly endpoint: TokenEndpoint
  readonly scopes: readonly string[]
  readonly fetch: Fetch
  readonly signal: AbortSignal
  readonly onPage: (url: string) => Promise<void>
}

/** A login on another device (RFC 8628): the user types a code there, and the token endpoint is polled until then. */
export async function deviceFlow(flow: Flow): Promise<Tokens> {
  const { context, endpoint, scopes, signal } = flow
  const { server, resource } = context
  if (server.device_authorization_endpoint === undefined) {
    throw new UpstreamError(
      'DEVICE_FLOW_UNSUPPORTED',
      `the issuer ${server.issuer} does not support the device flow`,
    )
  }
  const extra: Record<string, string> = resource === undefined ? {} : { resource }
  const parameters = scopes.length === 0 ? extra : { ...extra, scope: scopes.join(' ') }
  const configuration = configurationOf(flow)
  try {
    const device = await initiateDeviceAuthorization(configuration, parameters)
    const page = browserUrl(device.verification_uri_complete ?? device.verification_uri, server.issuer)
    await flow.onPage(page.href)
    promptUser(`Open this URL to sign in: ${page.href}`)
    promptUser(`and enter the code: ${printable(device.user_code)}`)
    const response = await pollDeviceAuthorizationGrant(configuration, device, extra, { signal })
    return tokensFrom(response, response.id_token)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof UpstreamError) throw error
    const { cause } = error instanceof Error ? error : {}
    throw endpoint.failure(cause instanceof Error ? cause : error)
  }
}

function configurationOf({ context, endpoint, fetch }: Flow): Configuration {
  const { server, client } = context
  const authentication: ClientAuth = (...request) => void endpoint.authentication(...request)
  const configuration = new Configuration(server, client.clientId, undefined, authentication)
  // The fetcher checks the address itself, and more strictly than https alone.
  allowInsecureRequests(configuration)
  configuration[customFetch] = (url, { method, headers, body, signal }) => {
    const form = body instanceof URLSearchParams || typeof body === 'string' ? { body } : {}
    return fetch(url, { method, headers, signal: signal ?? null, ...form })
  }
  return configuration
}
