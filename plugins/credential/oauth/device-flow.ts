import { setTimeout } from 'node:timers/promises'
import {
  allowInsecureRequests,
  customFetch,
  type DeviceAuthorizationResponse,
  deviceAuthorizationRequest,
  processDeviceAuthorizationResponse,
  ResponseBodyError,
} from 'oauth4webapi'
import { type Fetch, UpstreamError } from 'sallyport'
import { browserUrl } from './browser.js'
import { tellPerson } from './person.js'
import { type Grantee, plain, printable, type TokenEndpoint, type Tokens } from './token-endpoint.js'

interface Flow {
  readonly grantee: Grantee
  readonly endpoint: TokenEndpoint
  readonly scopes: readonly string[]
  readonly fetch: Fetch
  readonly signal: AbortSignal
}

/** One login on another device (RFC 8628): a person types a code there, and this asks until it was done. */
export async function deviceFlow(flow: Flow): Promise<Tokens> {
  const { endpoint, grantee, signal } = flow
  const begun = await begin(flow)
  const page = browserUrl(begun.verification_uri_complete ?? begun.verification_uri, grantee.server.issuer)
  tellPerson(`Open this URL to sign in: ${page.href}`)
  tellPerson(`and enter the code: ${printable(begun.user_code)}`)

  let interval = begun.interval ?? 5
  for (;;) {
    await setTimeout(interval * 1000, undefined, { signal, ref: false }).catch(() => signal.throwIfAborted())
    try {
      return await endpoint.device(begun.device_code, signal)
    } catch (error) {
      signal.throwIfAborted()
      const code = error instanceof UpstreamError ? error.code : ''
      // RFC 8628, 3.5: five seconds more, for this and all further requests.
      if (code === 'OAUTH_SLOW_DOWN') interval += 5
      else if (code !== 'OAUTH_AUTHORIZATION_PENDING') throw error
    }
  }
}

async function begin({
  grantee,
  endpoint,
  scopes,
  fetch,
  signal,
}: Flow): Promise<DeviceAuthorizationResponse> {
  const { server, client, resource } = grantee
  if (server.device_authorization_endpoint === undefined) {
    throw new UpstreamError(
      'DEVICE_FLOW_UNSUPPORTED',
      `the issuer ${server.issuer} has no sign-in on another device`,
    )
  }
  const parameters = new URLSearchParams()
  if (scopes.length > 0) parameters.set('scope', scopes.join(' '))
  if (resource !== undefined) parameters.set('resource', resource)
  const known = { client_id: client.clientId }
  const response = await deviceAuthorizationRequest(server, known, endpoint.authentication, parameters, {
    [allowInsecureRequests]: true,
    [customFetch]: (url, init) => fetch(url, init),
    signal,
  })
  try {
    return await processDeviceAuthorizationResponse(server, known, response)
  } catch (error) {
    const said = error instanceof ResponseBodyError ? plain(error.error) : `status ${response.status}`
    throw new UpstreamError('DEVICE_FLOW_REFUSED', `the issuer ${server.issuer} begins no sign-in: ${said}`)
  }
}
