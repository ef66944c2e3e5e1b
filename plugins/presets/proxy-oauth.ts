import type { Entry } from 'sallyport'
import { z } from 'zod'

const text = z.string().min(1)
const flag = z.boolean().default(false)
const url = z
  .string()
  .refine((given) => /^https?:\/\//i.test(given) && URL.canParse(given), 'expected an http or https URL')

/** The settings of the proxy that speak of signing in to the target. */
export const oauthSettings = {
  remoteAuth: flag.describe('sign in to the target with OAuth at once; else when it asks for it'),
  remoteAuthIssuer: url.optional().describe('issuer of the authorization server (OIDC)'),
  remoteAuthAuthorizeUrl: url.optional().describe('authorization endpoint, for a server without discovery'),
  remoteAuthTokenUrl: url.optional().describe('token endpoint, for a server without discovery'),
  remoteAuthClientId: text.optional().describe('client ID; not needed where clients can register themselves'),
  remoteAuthClientSecret: text.meta({ writeOnly: true }).optional().describe('its secret'),
  remoteAuthClientSecretFile: text.optional().describe('file that holds its secret'),
  remoteAuthClientKeyFile: text.optional().describe('file that holds its private key, in place of a secret'),
  remoteAuthScopes: z.array(text).optional().describe('scopes to ask for'),
  remoteAuthScopeParamName: text
    .optional()
    .describe('query parameter of the authorization URL that carries the scopes'),
  remoteAuthResource: z
    .string()
    .optional()
    .describe('resource indicator (RFC 8707); an empty one is not sent'),
  remoteAuthGrant: z
    .enum(['authorization_code', 'client_credentials'])
    .default('authorization_code')
    .describe('how a token is obtained'),
  remoteAuthDevice: flag.describe('sign in on another device, by a code (RFC 8628)'),
  remoteAuthCallbackPort: z
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe('port of the local server that the browser returns to'),
  remoteAuthSkipBrowser: flag.describe('print the sign-in URL and open no browser'),
  remoteAuthTimeout: z.int().positive().optional().describe('milliseconds that a sign-in may take'),
  remoteAuthNoStore: flag.describe('keep tokens and registered clients in memory only'),
  remoteAuthNoKeyring: flag.describe("keep them in files without a key in the operating system's keyring"),
  remoteAuthAllowPrivateIp: flag.describe('what the target names may be at private addresses'),
}

type OAuthSettings = z.output<z.ZodObject<typeof oauthSettings>>

/** The settings that the rules of OAuth look at beside its own. */
export interface BesideOAuth extends OAuthSettings {
  readonly remoteAuthBearerToken?: string | undefined
  readonly remoteAuthBearerTokenFile?: string | undefined
}

type Complain = (setting: keyof OAuthSettings, message: string) => void

/** Whether any of the settings asks for a login, now or when the target wants one. */
export const signsIn = (settings: OAuthSettings): boolean =>
  settings.remoteAuth || STARTERS.some((setting) => settings[setting] !== undefined)

const STARTERS = [
  'remoteAuthClientId',
  'remoteAuthIssuer',
  'remoteAuthAuthorizeUrl',
  'remoteAuthTokenUrl',
] as const

/** What one flag of OAuth alone cannot show to be wrong. */
export function oauthRules(settings: BesideOAuth, complain: Complain): void {
  if (!signsIn(settings)) {
    for (const setting of NEED_LOGIN) {
      if (isSet(settings[setting])) complain(setting, 'needs --remote-auth: without it nobody signs in')
    }
    return
  }
  alternatives(settings, complain)
  provider(settings, complain)
  client(settings, complain)
  resource(settings, complain)
}

const NEED_LOGIN = [
  'remoteAuthClientSecret',
  'remoteAuthClientSecretFile',
  'remoteAuthClientKeyFile',
  'remoteAuthScopes',
  'remoteAuthScopeParamName',
  'remoteAuthResource',
  'remoteAuthDevice',
  'remoteAuthCallbackPort',
  'remoteAuthSkipBrowser',
  'remoteAuthTimeout',
  'remoteAuthNoStore',
  'remoteAuthNoKeyring',
  'remoteAuthAllowPrivateIp',
] as const

const isSet = (value: unknown): boolean => value !== undefined && value !== false

function alternatives(settings: BesideOAuth, complain: Complain): void {
  const { remoteAuth, remoteAuthBearerToken, remoteAuthBearerTokenFile } = settings
  if (isSet(remoteAuthBearerToken) || isSet(remoteAuthBearerTokenFile)) {
    const setting = remoteAuth
      ? 'remoteAuth'
      : (STARTERS.find((each) => settings[each] !== undefined) ?? 'remoteAuth')
    complain(setting, 'stands against --remote-auth-bearer-token and its file: expected a login or a token')
  }
}

function provider(settings: OAuthSettings, complain: Complain): void {
  const { remoteAuthIssuer, remoteAuthAuthorizeUrl: page, remoteAuthTokenUrl: token } = settings
  const needsPage = settings.remoteAuthGrant === 'authorization_code'
  if (remoteAuthIssuer !== undefined && (page !== undefined || token !== undefined)) {
    const against =
      'stands against --remote-auth-authorize-url and --remote-auth-token-url: expected the one or the others'
    complain('remoteAuthIssuer', against)
  }
  if (page !== undefined && token === undefined)
    complain('remoteAuthTokenUrl', 'is required with --remote-auth-authorize-url')
  if (token === undefined) return
  if (page === undefined && needsPage)
    complain('remoteAuthAuthorizeUrl', 'is required with --remote-auth-token-url')
  if (settings.remoteAuthDevice) {
    complain('remoteAuthDevice', 'needs a server with discovery, instead of --remote-auth-token-url')
  }
  if (settings.remoteAuthClientId === undefined) {
    complain(
      'remoteAuthClientId',
      'is required with --remote-auth-token-url: a server without discovery registers nobody',
    )
  }
}

function client(settings: OAuthSettings, complain: Complain): void {
  const { remoteAuthClientId: id, remoteAuthGrant, remoteAuthDevice } = settings
  const secrets = ['remoteAuthClientSecret', 'remoteAuthClientSecretFile', 'remoteAuthClientKeyFile'] as const
  const given = secrets.filter((setting) => settings[setting] !== undefined)
  for (const setting of given) {
    if (id === undefined) complain(setting, 'needs --remote-auth-client-id')
    else if (isDocument(settings))
      complain(setting, 'stands against a client ID that is a URL: such clients have no secret')
  }
  if (settings.remoteAuthClientKeyFile !== undefined) {
    const only = 'is for --remote-auth-grant client_credentials: a person signs in with a secret, or without'
    if (remoteAuthGrant !== 'client_credentials') complain('remoteAuthClientKeyFile', only)
    if (given.length > 1)
      complain('remoteAuthClientKeyFile', 'stands against a client secret: expected one of them')
  }
  if (remoteAuthGrant !== 'client_credentials') return
  if (remoteAuthDevice) complain('remoteAuthDevice', 'stands against --remote-auth-grant client_credentials')
  if (id === undefined) complain('remoteAuthGrant', 'client_credentials needs --remote-auth-client-id')
  if (given.length === 0) {
    complain(
      'remoteAuthGrant',
      'client_credentials needs --remote-auth-client-secret-file or another source of the secret, or --remote-auth-client-key-file',
    )
  }
}

function resource({ remoteAuthResource: given }: OAuthSettings, complain: Complain): void {
  if (given === undefined || given === '' || (URL.canParse(given) && !given.includes('#'))) return
  complain('remoteAuthResource', "expected an absolute URI without a fragment, or '' to send none")
}

/** A client ID that is the URL of the client's own description. */
const isDocument = ({ remoteAuthClientId: id, remoteAuthTokenUrl }: OAuthSettings): boolean =>
  id !== undefined && /^https:\/\//i.test(id) && remoteAuthTokenUrl === undefined

interface Settings extends OAuthSettings {
  readonly targetUri: string
  readonly remoteForwardHeadersSecret: readonly unknown[]
}

/** Where logins are kept, who brings a client, and the login itself; nothing when nobody is to sign in. */
export const oauthEntries = (settings: Settings): Entry[] =>
  signsIn(settings) ? [...stores(settings), ...registrars(settings), login(settings)] : []

function stores({ remoteAuthNoStore, remoteAuthNoKeyring, ...settings }: Settings): Entry[] {
  if (remoteAuthNoStore) return [{ use: 'state/memory' }]
  // Headers that are stored secrets bring it along, at its place among the other stores.
  const isThere = settings.remoteForwardHeadersSecret.length > 0
  // Also when nothing new is to be encrypted: what was before is still to be read.
  const keyring = isThere ? [] : [{ use: 'secrets/keyring' }]
  return [...keyring, { use: 'state/files', ...(remoteAuthNoKeyring && { with: { keptKey: false } }) }]
}

function registrars(settings: Settings): Entry[] {
  const { remoteAuthClientId: clientId, remoteAuthClientSecret: clientSecret } = settings
  const byItself = [{ use: 'registrar/remembered' }, { use: 'registrar/dynamic' }]
  if (clientId === undefined) return byItself
  if (isDocument(settings)) {
    const origin: Entry['origin'] = { url: ['remoteAuthClientId'] }
    return [{ use: 'registrar/metadata-document', with: { url: clientId }, origin }, ...byItself]
  }
  const options = {
    clientId,
    clientSecret,
    // The value goes before the file, wherever the two were written.
    clientSecretFile: clientSecret === undefined ? settings.remoteAuthClientSecretFile : undefined,
    clientKeyFile: settings.remoteAuthClientKeyFile,
    issuer: settings.remoteAuthIssuer,
    place: settings.remoteAuthTokenUrl ?? settings.targetUri,
  }
  const origin: Entry['origin'] = {
    clientId: ['remoteAuthClientId'],
    clientSecret: ['remoteAuthClientSecret'],
    clientSecretFile: ['remoteAuthClientSecretFile'],
    clientKeyFile: ['remoteAuthClientKeyFile'],
  }
  return [{ use: 'registrar/given', with: given(options), origin }]
}

function login(settings: Settings): Entry {
  const { remoteAuthDevice, remoteAuthGrant, remoteAuthTimeout: timeout } = settings
  const options = {
    target: settings.targetUri,
    login: settings.remoteAuth ? 'start' : 'demand',
    issuer: settings.remoteAuthIssuer,
    authorizationUrl: settings.remoteAuthAuthorizeUrl,
    tokenUrl: settings.remoteAuthTokenUrl,
    scopes: settings.remoteAuthScopes,
    scopeParameter: settings.remoteAuthScopeParamName,
    resource: settings.remoteAuthResource,
    grant: remoteAuthDevice ? 'device_code' : remoteAuthGrant,
    callbackPort: settings.remoteAuthCallbackPort,
    // A client that was registered elsewhere knows one way back only.
    callbackPortFixed: settings.remoteAuthClientId !== undefined,
    openBrowser: !settings.remoteAuthSkipBrowser,
    timeout: timeout === undefined ? undefined : `${timeout}ms`,
    allowPrivateIP: settings.remoteAuthAllowPrivateIp,
    keptAs: settings.remoteAuthClientId,
  }
  return { use: 'credential/oauth', with: given(options), origin: ORIGIN }
}

const ORIGIN: Entry['origin'] = {
  target: ['targetUri'],
  issuer: ['remoteAuthIssuer'],
  authorizationUrl: ['remoteAuthAuthorizeUrl'],
  tokenUrl: ['remoteAuthTokenUrl'],
  scopes: ['remoteAuthScopes'],
  scopeParameter: ['remoteAuthScopeParamName'],
  resource: ['remoteAuthResource'],
  callbackPort: ['remoteAuthCallbackPort'],
  timeout: ['remoteAuthTimeout'],
}

const given = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
