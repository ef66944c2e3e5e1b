import type Provider from 'oidc-provider'
import type { AccountContext, IssuedToken } from 'oidc-provider'
import type { Fetch } from 'sallyport'
import type { JsonObject } from 'sallyport/toolkit'
import { EngineValues } from './adapter.js'
import type { Clients } from './clients.js'
import type { BrokerKeys } from './keys.js'
import { hasUnverifiedEmail, type Logins, type StoredLogin } from './logins.js'
import { type BrokerOptions, OWN_CLAIMS } from './options.js'
import type { SealedState } from './values.js'

type Engine = typeof import('oidc-provider')

interface Dependencies {
  readonly engine: Engine
  readonly issuer: string
  readonly options: BrokerOptions
  readonly keys: BrokerKeys
  readonly state: SealedState
  readonly clients: Clients
  readonly logins: Logins
  /** For metadata documents and the keys of given clients. */
  readonly fetch: Fetch
  readonly secure: boolean
}

export const ALGORITHM = 'ES256'
export const INTERACTION_SECONDS = 600
/** The engine's session lasts for one request. */
export const COOKIES = {
  session: 'sallyport-engine',
  interaction: 'sallyport-consent',
  resume: 'sallyport-resume',
}
export const ROUTES = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  jwks: '/oauth/keys',
  end_session: '/oauth/engine/end',
}
const CODE_SECONDS = 60
const ASSERTION_SECONDS = 3_600

/** The grant of an authorization names the sign-in that it hangs on. */
export const grantIdFor = (login: StoredLogin, random: string): string => `${login.id}.${random}`
const loginIdOf = ({ grantId }: IssuedToken): string => grantId?.split('.')[0] ?? ''

/** Makes the authorization server, of which the package does all that the standards say. */
export function openEngine(dependencies: Dependencies): Provider {
  const { engine, issuer, keys } = dependencies
  const { default: Provider } = engine
  const provider = new Provider(issuer, {
    ...configuration(dependencies),
    jwks: { keys: keys.signing },
  })
  // Host and scheme are those of the issuer: the requests that reach the package name no others.
  provider.proxy = true
  return provider
}

function configuration(dependencies: Dependencies): object {
  const { engine, issuer, options, keys, secure } = dependencies
  const { errors } = engine
  const usedBefore = () => new errors.InvalidGrant('used before')
  const { state, clients, fetch } = dependencies
  const scopes = ['openid', 'offline_access']
  const cookie = { signed: true, httpOnly: true, sameSite: 'lax', secure }
  return {
    adapter: (kind: string) =>
      new EngineValues(kind, { state, client: (id) => clients.find(id), usedBefore }),
    cookies: { keys: keys.cookies, names: COOKIES, long: cookie, short: cookie },
    routes: ROUTES,
    scopes,
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    clientDefaults: { id_token_signed_response_alg: ALGORITHM, token_endpoint_auth_method: 'none' },
    enabledJWA: {
      idTokenSigningAlgValues: [ALGORITHM],
      clientAuthSigningAlgValues: ['ES256', 'RS256', 'EdDSA'],
    },
    pkce: { required: () => true },
    clientBasedCORS: () => true,
    fetch,
    fetchResponseBodyLimits: { 'client_id metadata document': 64 * 1024, jwks_uri: 64 * 1024 },
    ttl: {
      AccessToken: seconds(options.accessToken),
      AuthorizationCode: CODE_SECONDS,
      Grant: seconds(options.refreshToken),
      IdToken: seconds(options.accessToken),
      Interaction: INTERACTION_SECONDS,
      RefreshToken: seconds(options.refreshToken),
      Session: CODE_SECONDS,
    },
    features: features(dependencies),
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => consentPath(issuer, uid) },
    // Each authorization has a grant of its own: of two of one client neither gets what the other was allowed.
    loadExistingGrant: (context: AccountContext) => {
      const grant = context.oidc.result?.consent?.grantId
      return grant === undefined ? undefined : context.oidc.provider.Grant.find(grant)
    },
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    // A browser's session ends long before the sign-in does.
    expiresWithSession: () => false,
    findAccount: (_context: unknown, subject: string, token?: IssuedToken) =>
      findAccount(dependencies, subject, token),
    extraTokenClaims: async (context: AccountContext<Account>) => {
      const login = context.oidc.entities.Account?.login
      return login === undefined ? undefined : claimsOf(login, options)
    },
    renderError: (context: { body: unknown; type: string }, out: object) => {
      context.type = 'json'
      context.body = out
    },
    revokeGrantPolicy: () => true,
    assertJwtClientAuthClaimsAndHeader: (_context: unknown, { exp }: { exp: number }) => {
      // Its ID is stored until then, and whoever writes a document can sign any number of them.
      if (exp > Date.now() / 1000 + ASSERTION_SECONDS)
        throw new errors.InvalidClientAuth('the assertion has to expire within an hour')
    },
    conformIdTokenClaims: true,
    claims: { openid: ['sub'] },
  }
}

const seconds = (milliseconds: number): number => Math.max(1, Math.floor(milliseconds / 1000))

export const consentPath = (issuer: string, uid: string): string => `${pathOf(issuer)}/oauth/consent/${uid}`

export const pathOf = (issuer: string): string => new URL(issuer).pathname.replace(/\/$/, '')

function features({ engine, options, clients }: Dependencies): object {
  const { errors } = engine
  const { resourceUrl, scopes } = options
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    revocation: {
      enabled: true,
      allowedPolicy: (_context: unknown, client: { clientId: string }, token: { clientId: string }) =>
        token.clientId === client.clientId,
    },
    registration: {
      enabled: clients.isRegistrationOpen,
      issueRegistrationAccessToken: false,
      idFactory: (context: { oidc: { body: JsonObject } }) => clients.idOf(context.oidc.body),
    },
    clientIdMetadataDocument: {
      enabled: options.clients.documents.length > 0,
      ack: 'draft-02',
      allowFetch: (_context: unknown, id: string) => clients.mayFetch(id),
      allowClient: (_context: unknown, client: { redirectUris: readonly string[] }) =>
        clients.areAllowed(client.redirectUris),
      cacheDuration: { min: 300, max: 3600 },
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resourceUrl,
      useGrantedResource: () => true,
      getResourceServerInfo(context: AccountContext, resource: string) {
        if (Array.isArray(context.oidc.params?.['resource']) || !isSame(resource, resourceUrl))
          throw new errors.InvalidTarget('expected the resource that the metadata names, and no other')
        return {
          scope: scopes.join(' '),
          audience: resourceUrl,
          accessTokenTTL: seconds(options.accessToken),
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: ALGORITHM } },
        }
      },
    },
  }
}

const isSame = (one: string, other: string): boolean =>
  URL.canParse(one) && new URL(one).href === new URL(other).href

/** The engine passes a code or a token where its grant counts, and none while it answers the browser. */
async function findAccount(
  { engine, logins }: Dependencies,
  subject: string,
  token: IssuedToken | undefined,
): Promise<object | undefined> {
  if (token === undefined) return accountOf(subject, undefined)
  const id = loginIdOf(token)
  const login = token.kind === 'RefreshToken' ? await refreshed(engine, logins, id) : await logins.read(id)
  return login === undefined || login.subject !== subject ? undefined : accountOf(subject, login)
}

async function refreshed(engine: Engine, logins: Logins, id: string): Promise<StoredLogin | undefined> {
  try {
    return await logins.refreshed(id)
  } catch (cause) {
    // Nothing is known of the person, and the refresh token stays good.
    const error = new engine.errors.TemporarilyUnavailable('the identity provider does not answer', { cause })
    throw Object.assign(error, { status: 503, statusCode: 503, expose: true })
  }
}

interface Account {
  readonly accountId: string
  readonly login: StoredLogin | undefined
  claims(): JsonObject
}

const accountOf = (accountId: string, login: StoredLogin | undefined): Account => ({
  accountId,
  login,
  claims: () => ({ sub: accountId }),
})

export function claimsOf(login: StoredLogin, { claims }: BrokerOptions): JsonObject {
  const isUsable = (name: string): boolean =>
    !OWN_CLAIMS.has(name) && !(name === 'email' && hasUnverifiedEmail(login.claims))
  const chosen = claims.filter((name) => isUsable(name) && login.claims[name] !== undefined)
  return {
    ...Object.fromEntries(chosen.map((name) => [name, login.claims[name]])),
    idp: login.idp,
    sid: login.id,
    // With milliseconds: a sign-in in the second of a revocation was before or after it.
    auth_time: login.at / 1000,
  }
}
