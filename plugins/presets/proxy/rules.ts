import { isLoopbackHost } from 'sallyport/toolkit'
import { z } from 'zod'
import { type AddedPlugins, isAdded, isReplaced } from '../settings/added-plugins.js'
import { type Needs, refuseUseless } from '../settings/needs.js'
import { refuse } from '../settings/refuse.js'
import type { SettingsOf } from '../settings/setting.js'
import { isMetadataDocument, loginStarter } from './oauth.js'
import { proxyTable } from './table.js'

type Flags = SettingsOf<typeof proxyTable>

interface Settings extends Flags {
  readonly plugins: AddedPlugins
  readonly broker?: unknown
}

type Complain = (setting: keyof Flags, message: string) => void

/** Whether the proxy authenticates callers: by the issuer, by its broker, or by a plugin that replaces `auth/anonymous`. */
export const checksCallers = (settings: Settings): boolean =>
  settings.oidcIssuer !== undefined || hasBroker(settings) || isReplaced('auth/anonymous', settings.plugins)

/** Whether unauthenticated callers are accepted, also beside an issuer. */
const isOpen = (settings: Settings): boolean =>
  !checksCallers(settings) || isAdded('auth/anonymous', settings.plugins)

/** Whether a tunnel would open the proxy to the whole internet. */
export const isOpenToInternet = (settings: Settings): boolean =>
  isOpen(settings) && !settings.allowUnauthenticated

const NEEDS: Needs<Settings> = {
  authentication: [checksCallers, 'needs --oidc-issuer: without it no token is checked'],
  'oidc-issuer': [
    ({ oidcIssuer }) => oidcIssuer !== undefined,
    'needs --oidc-issuer: without it no token is checked',
  ],
  'broker-client-id': [hasBroker, 'needs --broker-client-id: without it no client registers here'],
  'https-target': [
    ({ targetUri }) => !/^http:/i.test(targetUri),
    'needs a --target-uri of https: HTTP/2 is agreed on in the TLS handshake',
  ],
  'remote-auth': [
    (settings) => loginStarter(settings) !== undefined,
    'needs --remote-auth: without it nobody signs in',
  ],
  'token-exchange-url': [
    ({ tokenExchangeUrl }) => tokenExchangeUrl !== undefined,
    'needs --token-exchange-url: without it nothing is exchanged',
  ],
}

/** Whether the proxy is an authorization server for its callers. */
export function hasBroker({ brokerClientId, broker }: Pick<Settings, 'brokerClientId' | 'broker'>): boolean {
  return brokerClientId !== undefined || broker !== undefined
}

/** Mistakes that only several settings together show. */
export function proxyRules(settings: Settings, context: z.core.$RefinementCtx): void {
  const complain = (setting: string, message: string) => refuse(context, [setting], message)
  refuseUseless(proxyTable, settings, NEEDS, complain)
  listening(settings, complain)
  discovery(settings, complain)
  if (loginStarter(settings) !== undefined) {
    loginOrToken(settings, complain)
    provider(settings, complain)
    client(settings, complain)
  }
  if (settings.tokenExchangeUrl !== undefined) exchange(settings, complain)
  if (hasBroker(settings)) broker(settings, complain)
  lending(settings, complain)
}

function broker(settings: Settings, complain: Complain): void {
  const { oidcIssuer, brokerAuthorizeUrl, broker: section, port, resourceUrl } = settings
  if (section === undefined && (oidcIssuer === undefined) === (brokerAuthorizeUrl === undefined))
    complain('brokerClientId', 'needs --oidc-issuer or --broker-authorize-url: where do people sign in?')
  for (const setting of ['brokerTokenUrl', 'brokerUserUrl'] as const)
    if (brokerAuthorizeUrl !== undefined && settings[setting] === undefined)
      complain(setting, 'is required with --broker-authorize-url')
  if (resourceUrl !== undefined) return
  complain('resourceUrl', port === 0 ? FREE_PORT : 'is required with the broker: its tokens are for this URL')
}

const FREE_PORT =
  'is required with the broker, or --port: on a free port its address would change with each start'

function listening({ host, allowedOrigins = [] }: Settings, complain: Complain): void {
  if (!isHost(host)) complain('host', 'expected a host name or an IP address, without port and brackets')
  if (allowedOrigins.every((origin) => ORIGIN.test(origin))) return
  const example = 'such as https://app.example.com, without a path'
  complain('allowedOrigins', `expected origins as browsers send them, ${example}`)
}

const isHost = (host: string): boolean =>
  /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i.test(host) || z.ipv6().safeParse(host).success
// A browser sends no upper case, no path and no default port, so an origin with one never matches.
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/\s?#@*A-Z]+$/

function discovery({ oidcIssuer, host, resourceUrl, ...others }: Settings, complain: Complain): void {
  // A tunnel brings the public address.
  const isKnown = resourceUrl !== undefined || 'tunnelProvider' in others
  if (oidcIssuer === undefined || isKnown || !isUnspecified(host)) return
  const example = 'such as https://mcp.example.com/mcp'
  complain('resourceUrl', `is required with --oidc-issuer on this --host: clients compare it, ${example}`)
}

/** Matches the wildcard address in any spelling, by which no client can reach the proxy. */
function isUnspecified(host: string): boolean {
  const url = `http://${host.includes(':') ? `[${host}]` : host}`
  return URL.canParse(url) && ['0.0.0.0', '[::]'].includes(new URL(url).hostname)
}

const hasBearer = ({ remoteAuthBearerToken, remoteAuthBearerTokenFile }: Settings): boolean =>
  remoteAuthBearerToken !== undefined || remoteAuthBearerTokenFile !== undefined

function loginOrToken(settings: Settings, complain: Complain): void {
  if (!hasBearer(settings)) return
  const message =
    'cannot be combined with --remote-auth-bearer-token and its file: expected a login or a token'
  complain(loginStarter(settings) ?? 'remoteAuth', message)
}

function provider(settings: Settings, complain: Complain): void {
  const { remoteAuthIssuer, remoteAuthAuthorizeUrl: page, remoteAuthTokenUrl: token } = settings
  if (remoteAuthIssuer !== undefined && (page !== undefined || token !== undefined)) {
    const others = '--remote-auth-authorize-url and --remote-auth-token-url'
    complain('remoteAuthIssuer', `cannot be combined with ${others}: expected the one or the others`)
  }
  if (page !== undefined && token === undefined)
    complain('remoteAuthTokenUrl', 'is required with --remote-auth-authorize-url')
  if (token === undefined) return
  if (page === undefined && settings.remoteAuthGrant === 'authorization_code')
    complain('remoteAuthAuthorizeUrl', 'is required with --remote-auth-token-url')
  if (settings.remoteAuthDevice)
    complain('remoteAuthDevice', 'needs a server with discovery, instead of --remote-auth-token-url')
  if (settings.remoteAuthClientId === undefined) {
    const reason = 'a server without discovery registers nobody'
    complain('remoteAuthClientId', `is required with --remote-auth-token-url: ${reason}`)
  }
}

const SECRETS = ['remoteAuthClientSecret', 'remoteAuthClientSecretFile', 'remoteAuthClientKeyFile'] as const

function client(settings: Settings, complain: Complain): void {
  const { remoteAuthClientId: id, remoteAuthClientKeyFile: key } = settings
  const isMachine = settings.remoteAuthGrant === 'client_credentials'
  const given = SECRETS.filter((setting) => settings[setting] !== undefined)
  if (id === undefined) for (const setting of given) complain(setting, 'needs --remote-auth-client-id')
  if (isMetadataDocument(settings)) {
    const message = 'cannot be combined with a client ID that is a URL: such clients have no secret'
    for (const setting of given) complain(setting, message)
  }
  if (key !== undefined && !isMachine) {
    const only = 'is for --remote-auth-grant client_credentials'
    complain('remoteAuthClientKeyFile', `${only}: a person signs in with a secret, or without`)
  }
  if (key !== undefined && given.length > 1)
    complain('remoteAuthClientKeyFile', 'cannot be combined with a client secret: expected one of them')
  if (!isMachine) return
  if (settings.remoteAuthDevice)
    complain('remoteAuthDevice', 'cannot be combined with --remote-auth-grant client_credentials')
  if (id === undefined) complain('remoteAuthGrant', 'client_credentials needs --remote-auth-client-id')
  if (given.length > 0) return
  const sources = '--remote-auth-client-secret-file or another source of the secret'
  complain('remoteAuthGrant', `client_credentials needs ${sources}, or --remote-auth-client-key-file`)
}

function exchange(settings: Settings, complain: Complain): void {
  if (!checksCallers(settings) && !settings.remoteAuth && !hasBearer(settings)) {
    const expected = 'expected --oidc-issuer, whose callers bring one, or a login or token of --remote-auth-*'
    complain('tokenExchangeUrl', `has no token to exchange: ${expected}`)
  }
  if (hasBearer(settings) && settings.tokenExchangeSubjectTokenType?.endsWith('id_token') === true) {
    const message =
      'cannot be combined with a given bearer token, which is what is exchanged and is no ID token'
    complain('tokenExchangeSubjectTokenType', message)
  }
}

function lending(settings: Settings, complain: Complain): void {
  const { host, allowUnauthenticated } = settings
  if (!lends(settings) || !isOpen(settings) || allowUnauthenticated || isLoopbackHost(host)) return
  const expected = 'expected a loopback host, --oidc-issuer, or --allow-unauthenticated'
  complain('host', `would lend the outgoing credentials to anybody on the network: ${expected}`)
}

const lends = (settings: Settings): boolean =>
  loginStarter(settings) !== undefined ||
  hasBearer(settings) ||
  settings.remoteForwardHeaders.length + settings.remoteForwardHeadersSecret.length > 0
