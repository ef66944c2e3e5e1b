import { randomBytes } from 'node:crypto'
import { exportJWK, generateKeyPair } from 'jose'
import { definePlugin, type Gateway, secretText } from 'sallyport'
import { z } from 'zod'
import { loopbackAddress, optional, serveOnLoopback } from './loopback.js'

const options = z.strictObject({
  address: loopbackAddress().describe('`HOST:PORT` on loopback, and nowhere else; the issuer is this URL'),
  clientId: z.string().min(1).describe('a client that gets tokens for itself'),
  clientSecret: secretText().describe('its secret'),
  lifetime: z.int().positive().default(43_200).describe('seconds that its access tokens are good for'),
})

export default definePlugin({
  name: 'dev/issuer',
  api: 1,
  summary:
    'Runs an identity provider on this machine, for development: it signs in anybody under any name, and refuses to listen on anything but loopback.',
  oneProcess: 'each process would have keys and logins of its own',
  options,

  async setup(gateway, settings) {
    const load = () => optional('oidc-provider', () => import('oidc-provider'))
    const { default: Provider } = await listenedTo(gateway, load)
    serveOnLoopback(gateway, {
      address: settings.address,
      options: settings,
      answers: async (url) => {
        const given = await configuration(settings)
        return listenedTo(gateway, async () => new Provider(url, given).callback())
      },
    })
  },
})

/** The package says on the console what a server for real use would do otherwise: stdout is for the person who tries it. */
async function listenedTo<T>({ log }: Gateway, work: () => Promise<T>): Promise<T> {
  const { info, warn } = console
  const tell = (text: string): void => log.debug(text)
  Object.assign(console, { info: tell, warn: tell })
  try {
    return await work()
  } finally {
    Object.assign(console, { info, warn })
  }
}

// A short signature: its tokens are pasted into terminals.
const ALGORITHM = 'EdDSA'

const SCOPE = 'mcp'

async function configuration({
  clientId,
  clientSecret,
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
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    // MCP clients register themselves, and wait on a port of this machine for their user to come back.
    clientDefaults: { application_type: 'native', id_token_signed_response_alg: ALGORITHM },
    enabledJWA: { idTokenSigningAlgValues: [ALGORITHM] },
    // MCP clients ask for the scope of the resource when they register, which only known scopes allow.
    scopes: ['openid', 'offline_access', SCOPE],
    clientBasedCORS: () => true,
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId }),
    }),
    // Each of them given, since the package tells on stdout of every one that is not.
    ttl: Object.fromEntries(LIVING.map((kind) => [kind, lifetime])),
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

const LIVING = [
  'AccessToken',
  'AuthorizationCode',
  'ClientCredentials',
  'Grant',
  'IdToken',
  'Interaction',
  'RefreshToken',
  'Session',
] as const
