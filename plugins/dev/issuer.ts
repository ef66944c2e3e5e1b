import { randomBytes } from 'node:crypto'
import { exportJWK, generateKeyPair } from 'jose'
import type Provider from 'oidc-provider'
import type { PageContext } from 'oidc-provider'
import { definePlugin } from 'sallyport'
import { secretText, webUrl } from 'sallyport/toolkit'
import { z } from 'zod'
import { withConsoleLogged } from '#plugins/issuer/console.js'
import { isOnLoopback, loopbackAddress, serveOnLoopback } from './loopback.js'

const options = z.strictObject({
  address: loopbackAddress().describe('`HOST:PORT`, loopback only; the issuer is this URL'),
  clientId: z.string().min(1).describe('a client for the client credentials grant'),
  clientSecret: secretText().describe('its secret'),
  redirectUri: webUrl()
    .refine(isOnLoopback, 'expected a URL of this machine, such as http://127.0.0.1:8000/callback')
    .optional()
    .describe('where people come back to who sign in with this client; nobody does without it'),
  lifetime: z.int().positive().default(43_200).describe('seconds for which its access tokens are valid'),
})

export default definePlugin({
  name: 'dev/issuer',
  api: 1,
  summary: 'Runs an identity provider on loopback, for development: it signs in anybody under any name.',
  oneProcess: 'each process would have keys and logins of its own',
  options,

  async setup(gateway, settings) {
    const { default: Provider, errors } = await withConsoleLogged(gateway, () => import('oidc-provider'))
    serveOnLoopback(gateway, {
      address: settings.address,
      options: settings,
      handler: async (url) => {
        const refused = new errors.InvalidRedirectUri(NOT_ON_LOOPBACK)
        const config = { ...(await configuration(settings)), extraClientMetadata: loopbackClients(refused) }
        return withConsoleLogged(gateway, async () => {
          const provider = new Provider(url, config)
          adaptPages(provider)
          return provider.callback()
        })
      },
    })
  },
})

/** Any program can register a client, also a web page in a browser, so codes may go only to this machine. */
const loopbackClients = (refused: Error): object => ({
  // The package calls this for properties that it does not know.
  properties: ['loopback_only'],
  validator(
    _context: unknown,
    _key: string,
    _value: unknown,
    metadata: { redirect_uris?: readonly string[] },
  ) {
    if (metadata.redirect_uris?.every(isOnLoopback) === false) throw refused
  },
})

const NOT_ON_LOOPBACK = 'expected redirect URIs of this machine, such as http://127.0.0.1:8000/callback'

// A key with short signatures: people paste the tokens into terminals.
const ALGORITHM = 'EdDSA'

const SCOPE = 'mcp'

async function configuration({
  clientId,
  clientSecret,
  redirectUri,
  lifetime,
}: z.output<typeof options>): Promise<object> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true })
  const key = { ...(await exportJWK(privateKey)), kid: 'dev', alg: ALGORITHM, use: 'sig' }
  return {
    jwks: { keys: [key] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: ['client_credentials', ...(redirectUri === undefined ? [] : ['authorization_code'])],
        redirect_uris: redirectUri === undefined ? [] : [redirectUri],
        response_types: redirectUri === undefined ? [] : ['code'],
      },
    ],
    // MCP clients register themselves, with redirect URIs on loopback.
    clientDefaults: { application_type: 'native', id_token_signed_response_alg: ALGORITHM },
    enabledJWA: { idTokenSigningAlgValues: [ALGORITHM] },
    // MCP clients request the scope of the resource when they register; the package accepts only known scopes.
    scopes: ['openid', 'offline_access', SCOPE],
    clientBasedCORS: () => true,
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId }),
    }),
    ttl: { ...LIFETIMES, AccessToken: lifetime, ClientCredentials: lifetime },
    features: {
      devInteractions: { enabled: true },
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      rpInitiatedLogout: { enabled: false },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: SCOPE,
          audience: resource,
          accessTokenTTL: lifetime,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: ALGORITHM } },
        }),
      },
    },
  }
}

const DAY = 86_400

// The package writes a warning to stdout for each lifetime that is not set.
const LIFETIMES = {
  AuthorizationCode: 60,
  Grant: 14 * DAY,
  IdToken: 3600,
  Interaction: 3600,
  RefreshToken: 14 * DAY,
  Session: 14 * DAY,
} as const

// The package's own pages load a font from another host, and a client may name a picture on any host.
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
const FOREIGN_STYLE = /@import url\([^)]*\);/g

/** Stops the sign-in pages from loading other resources, and shows the name of the client on them. */
export function adaptPages(provider: Provider): void {
  provider.use(async (context, next) => {
    await next()
    const { body } = context
    if (context.type !== 'text/html' || typeof body !== 'string') return
    const name = await clientName(provider, context)
    context.set('content-security-policy', POLICY)
    const named =
      name === undefined ? body : body.replace('</h1>', () => `</h1><p>Client: ${escaped(name)}</p>`)
    context.body = named.replace(FOREIGN_STYLE, '')
  })
}

async function clientName(provider: Provider, context: PageContext): Promise<string | undefined> {
  const isInteraction = context.path.startsWith('/interaction/') && context.status === 200
  if (!isInteraction) return undefined
  const { params } = await provider.interactionDetails(context.req, context.res)
  const client = await provider.Client.find(params.client_id)
  return client?.clientName ?? client?.clientId
}

// The client has chosen this name itself at its registration.
const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
