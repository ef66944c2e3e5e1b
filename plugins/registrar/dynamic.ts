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
import { z } from 'zod'
import { KeptClients } from './kept-client.js'

export default definePlugin({
  name: 'registrar/dynamic',
  api: 1,
  summary: 'Registers a client at the issuer itself (RFC 7591), and keeps it for the next time.',
  provides: [ClientRegistrar],
  requires: [StateStore],
  options: z.strictObject({
    clientName: z.string().min(1).default('Sallyport').describe('the name that people see when they sign in'),
  }),

  setup(gateway, { clientName }) {
    const clients = new KeptClients(gateway.use(StateStore))
    gateway.provide(ClientRegistrar, {
      name: 'dynamic registration',
      async register(request) {
        if (request.metadata['registration_endpoint'] === undefined) return undefined
        const client = await registered(request, clientName)
        if (client.clientSecret !== undefined) gateway.scrubber.add(client.clientSecret)
        await clients.keep(request, client)
        gateway.log.info({ issuer: request.issuer }, 'registered a client')
        return client
      },
    })
  },
})

async function registered(request: RegistrationRequest, clientName: string): Promise<RegisteredClient> {
  const { issuer, metadata, redirectUris, grantTypes, fetch } = request
  const server = { ...metadata, issuer } as AuthorizationServer
  const method = methodFor(metadata)
  // Without `scope`: issuers hold a client to what it named here, and a target may ask for more one day.
  const body = {
    client_name: clientName,
    application_type: 'native',
    redirect_uris: [...redirectUris],
    grant_types: [...grantTypes],
    response_types: redirectUris.length === 0 ? [] : ['code'],
    token_endpoint_auth_method: method,
  }
  const response = await dynamicClientRegistrationRequest(server, body, {
    // The way out judges the address itself, and is stricter than https alone.
    [allowInsecureRequests]: true,
    [customFetch]: (url, init) => fetch(url, init),
  })
  const answer = await processDynamicClientRegistrationResponse(await tolerated(response)).catch(
    (error: unknown) => {
      throw refused(issuer, error)
    },
  )
  // What comes back counts, whatever was asked for (RFC 7591, 3.2.1).
  const { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method } = answer
  const { redirect_uris } = answer
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

/** A secret on a person's machine protects nothing, so none is asked for where the issuer agrees. */
function methodFor({
  token_endpoint_auth_methods_supported: supported,
}: RegistrationRequest['metadata']): string {
  // RFC 8414, 2: what says nothing supports Basic.
  const methods = isTexts(supported) ? supported : ['client_secret_basic']
  return PREFERRED.find((method) => methods.includes(method)) ?? 'none'
}

const PREFERRED = ['none', 'client_secret_basic', 'client_secret_post']

const answerText = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.issues.push({ code: 'custom', input: text, message: 'no JSON' })
      return z.NEVER
    }
  })
  .pipe(z.record(z.string(), z.unknown()))

/** Some issuers say 200 for 201, and some give a secret without saying that it never ends. */
async function tolerated(response: Response): Promise<Response> {
  if (response.status !== 200 && response.status !== 201) return response
  const text = await response.text()
  const { success, data } = answerText.safeParse(text)
  const told = success ? JSON.stringify({ client_secret_expires_at: 0, ...data }) : text
  return new Response(told, { status: 201, headers: response.headers })
}

function refused(issuer: string, cause: unknown): UpstreamError {
  const said = cause instanceof ResponseBodyError ? `: ${plain(cause.error)}` : ''
  return new UpstreamError('REGISTRATION_REFUSED', `the issuer ${issuer} registers no client for us${said}`, {
    cause,
  })
}

// An error code of RFC 7591, and nothing else that a stranger may write.
const plain = (code: string): string => code.replaceAll(/[^\w.-]/g, '').slice(0, 60)
