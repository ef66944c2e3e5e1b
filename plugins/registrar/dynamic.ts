import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  dynamicClientRegistrationRequest,
  processDynamicClientRegistrationResponse,
  ResponseBodyError,
} from 'oauth4webapi'
import {
  ClientRegistrar,
  definePlugin,
  type RegisteredClient,
  type RegistrationRequest,
  StateStore,
  UpstreamError,
} from 'sallyport'
import { jsonObject, plainCode } from 'sallyport/toolkit'
import { z } from 'zod'
import { RegisteredClients } from './registered-clients.js'

export default definePlugin({
  name: 'registrar/dynamic',
  api: 1,
  summary: 'Registers a client at the issuer (RFC 7591), and stores it for the next login.',
  provides: [ClientRegistrar],
  requires: [StateStore],
  options: z.strictObject({
    clientName: z.string().min(1).default('Sallyport').describe('the name that users see when they sign in'),
  }),

  setup(gateway, { clientName }) {
    const clients = new RegisteredClients(gateway.use(StateStore))
    gateway.provide(ClientRegistrar, {
      name: 'dynamic registration',
      async register(request) {
        if (request.metadata['registration_endpoint'] === undefined) return undefined
        const client = await registerClient(request, clientName)
        if (client.clientSecret !== undefined) gateway.scrubber.add(client.clientSecret)
        await clients.save(request, client)
        gateway.log.info({ issuer: request.issuer }, 'registered a client')
        return client
      },
    })
  },
})

/** By oauth4webapi: openid-client would fetch the metadata, which is known already, once more to register a client. */
async function registerClient(request: RegistrationRequest, clientName: string): Promise<RegisteredClient> {
  const { issuer, metadata, redirectUris, grantTypes, fetch } = request
  const server = { ...metadata, issuer } as AuthorizationServer
  const method = methodFor(metadata)
  // Without `scope`: issuers limit a client to the registered scopes, and a target may need more later.
  const body = {
    client_name: clientName,
    application_type: 'native',
    redirect_uris: [...redirectUris],
    grant_types: [...grantTypes],
    response_types: redirectUris.length === 0 ? [] : ['code'],
    token_endpoint_auth_method: method,
  }
  const response = await dynamicClientRegistrationRequest(server, body, {
    // The fetcher checks the address itself, and more strictly than https alone.
    [allowInsecureRequests]: true,
    [customFetch]: (url, init) => fetch(url, init),
  })
  const fields = await processDynamicClientRegistrationResponse(await normalized(response)).catch(
    (error: unknown) => {
      throw registrationError(issuer, error)
    },
  )
  // The response overrides what was requested (RFC 7591, 3.2.1).
  const { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method } = fields
  const { redirect_uris } = fields
  return {
    issuer,
    clientId: client_id,
    ...(typeof client_secret === 'string' && client_secret !== '' && { clientSecret: client_secret }),
    tokenEndpointAuthMethod:
      typeof token_endpoint_auth_method === 'string' ? token_endpoint_auth_method : method,
    ...(isTexts(redirect_uris) && { redirectUris: redirect_uris }),
    ...(typeof client_secret_expires_at === 'number' && { secretExpiresAt: client_secret_expires_at }),
  }
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')

/** A secret on a user's machine protects nothing, so none is requested where the issuer supports that. */
function methodFor({
  token_endpoint_auth_methods_supported: supported,
}: RegistrationRequest['metadata']): string {
  // RFC 8414, 2: without this field, Basic is supported.
  const methods = isTexts(supported) ? supported : ['client_secret_basic']
  return PREFERRED.find((method) => methods.includes(method)) ?? 'none'
}

const PREFERRED = ['none', 'client_secret_basic', 'client_secret_post']

/**
 * Some issuers respond with 200 instead of 201, some omit the expiry of a secret that never expires, and some write
 * null or an empty text for an absent field.
 */
async function normalized(response: Response): Promise<Response> {
  if (response.status !== 200 && response.status !== 201) return response
  const text = await response.text()
  const fields = jsonObject(text)
  const present = Object.entries(fields ?? {}).filter(([, value]) => value !== null && value !== '')
  const completed = { client_secret_expires_at: 0, ...Object.fromEntries(present) }
  const body = fields === undefined ? text : JSON.stringify(completed)
  return new Response(body, { status: 201, headers: response.headers })
}

function registrationError(issuer: string, cause: unknown): UpstreamError {
  const code = cause instanceof ResponseBodyError ? `: ${plainCode(cause.error)}` : ''
  return new UpstreamError(
    'REGISTRATION_REFUSED',
    `the issuer ${issuer} refused to register a client${code}`,
    {
      cause,
    },
  )
}
