import type { Entry, List } from 'sallyport'
import { formatHostPort, isLoopbackHost } from 'sallyport/toolkit'
import { z } from 'zod'
import { accessLog } from './access-log.js'
import { type BrokerSection, brokerSection, brokerWith } from './broker.js'
import { incomingEntries } from './incoming.js'
import { type LoginManner, loginStarter, oauthEntries } from './proxy/oauth.js'
import { checksCallers, hasBroker, proxyRules } from './proxy/rules.js'
import { proxyTable } from './proxy/table.js'
import { addedPluginRules, addedPlugins, withAddedPlugins } from './settings/added-plugins.js'
import { defined, EntryMaker, spanOf } from './settings/entry.js'
import { settingsSchema } from './settings/schema.js'
import type { SettingsOf } from './settings/setting.js'
import { tlsSection } from './tls-section.js'

export const proxySections = {
  name: z.string().min(1).default('mcp').describe('the target in logs, and the realm of the challenge'),
  tls: tlsSection,
  broker: brokerSection,
  plugins: addedPlugins,
}

/** The settings of `sallyport proxy`: its flags in camel case. */
export const ProxySettings = settingsSchema(proxyTable, proxySections).superRefine((settings, context) => {
  proxyRules(settings, context)
  addedPluginRules(ownEntries(settings), settings.plugins, context)
})

export type ProxySettings = z.output<typeof ProxySettings>

/** A transparent proxy: guards, authentication of callers, outgoing credentials, then the connection to the target. */
export const proxy = (settings: ProxySettings): List =>
  withAddedPlugins(ownEntries(settings), settings.plugins).list

/** The proxy's own entries. `outside`: the entries that give its main port a public address. */
export function ownEntries(settings: ProxySettings, outside: readonly Entry[] = []): Entry[] {
  const isPublic = outside.length > 0
  return [
    ...listeners(settings),
    ...accessLog(settings),
    ...outside,
    ...guards(settings, isPublic ? { public: true } : {}),
    ...incoming(settings, isPublic),
    ...outgoing(settings),
    forwarder(settings),
  ]
}

const make = new EntryMaker(proxyTable)

function listeners(settings: ProxySettings): Entry[] {
  const { internalAddress } = settings
  const internal = [make.entry('internal/server', settings), { use: 'internal/metrics' }]
  return [
    make.entry('listen/http', settings, {
      with: { address: formatHostPort(settings), drainDelay: spanOf(settings.drainDelay) },
      from: { address: 'port' },
    }),
    ...(internalAddress === undefined ? [] : internal),
  ]
}

function guards(settings: ProxySettings, known: { readonly public?: true }): Entry[] {
  const { host, allowedOrigins, resourceUrl = '' } = settings
  const loopback = isLoopbackHost(host)
  const outside = URL.canParse(resourceUrl) ? new URL(resourceUrl) : undefined
  // Behind a program on this machine that ends TLS, callers know the proxy by this host.
  const allowed = outside === undefined ? [] : [outside.host]
  // The form to allow a client is a POST with an `Origin`.
  const forms = hasBroker(settings) && outside !== undefined ? [outside.origin] : []
  const own = loopback ? { loopback, ...known, ...(forms.length > 0 && { allowed: forms }) } : { any: true }
  const origins = allowedOrigins !== undefined ? { allowed: [...allowedOrigins, ...forms] } : own
  return [
    ...(loopback ? [{ use: 'guard/host', with: { allowed, loopback, ...known } }] : []),
    { use: 'guard/origin', with: origins, origin: { allowed: ['allowedOrigins'] } },
    // When the guard accepts any origin, CORS gives no page the responses.
    ...('any' in origins ? [] : [{ use: 'http/cors' }]),
  ]
}

function incoming(settings: ProxySettings, isPublic: boolean): Entry[] {
  const { name, oidcIssuer, oidcScopes, resourceUrl, targetUri } = settings
  if (oidcIssuer === undefined && !hasBroker(settings)) {
    // The proxy is open to the internet only when the operator said so.
    const known = isPublic && settings.allowUnauthenticated
    return [{ use: 'auth/anonymous', ...(known && { with: { public: true } }) }]
  }
  const oauth = {
    realm: name,
    resourceUrl,
    publicPaths: [],
    scopes: [...oidcScopes],
    requiredScopes: [],
    // The callers of a proxy are programs, which can retry.
    unavailableStatus: 503 as const,
    providers: acceptsProvider(settings)
      ? [{ type: 'oidc', name: 'incoming', ...make.optionsOf('auth/oidc', settings) }]
      : [],
    broker: hasBroker(settings) ? broker(settings) : undefined,
  }
  return incomingEntries(
    { mode: 'oauth', publicPaths: [], oauth },
    {
      // The target's own routes at these paths need authentication like all others.
      alwaysPublic: [],
      resourcePath: URL.canParse(targetUri) ? new URL(targetUri).pathname : '/',
      brokerAt: ['broker'],
      // A login at the target brings it along.
      brokerState: (passphraseFile) =>
        loginStarter(settings) === undefined && passphraseFile !== undefined
          ? [{ use: 'state/sqlite', with: { passphraseFile } }]
          : [],
      origins: {
        provider: make.origin('auth/oidc'),
        resource: { resource: ['resourceUrl'], scopes: ['oidcScopes'] },
        broker: {
          broker: make.origin('issuer/broker', {
            resourceUrl: 'resourceUrl',
            scopes: 'oidcScopes',
            ...(settings.broker === undefined && { require: 'brokerRequire' }),
          }),
          login: {
            ...make.origin('login/oidc', { issuerUrl: 'oidcIssuer' }),
            ...make.origin('login/oauth2'),
          },
        },
      },
    },
  )
}

/** With a broker the tokens of the provider itself are accepted only for an audience that is named. */
const acceptsProvider = (settings: ProxySettings): boolean =>
  settings.oidcIssuer !== undefined &&
  (!hasBroker(settings) || settings.oidcAudience !== undefined || settings.oidcAnyAudience)

/** The section of the file, with what flags say over it. */
function broker(settings: ProxySettings): BrokerSection {
  const { oidcIssuer, oidcAllowPrivateIp, oidcCaCert, brokerRequire, brokerAuthorizeUrl } = settings
  const clients = defined({
    registration: settings.brokerRegistration,
    redirectHosts: settings.brokerRedirectHosts,
    documents: settings.brokerDocuments,
    allowPrivateIP: settings.brokerAllowPrivateIp || undefined,
    caCertPath: settings.brokerCaCert,
  })
  const own = defined({
    ...make.optionsOf('issuer/broker', settings),
    accessToken: spanOf(settings.brokerAccessToken),
    refreshToken: spanOf(settings.brokerRefreshToken),
    clients,
  })
  const provider = defined({
    ...make.optionsOf('login/oidc', settings),
    ...make.optionsOf('login/oauth2', settings),
    ...(settings.brokerClientId !== undefined && {
      issuerUrl: brokerAuthorizeUrl === undefined ? oidcIssuer : undefined,
      allowPrivateIP: oidcAllowPrivateIp || undefined,
      caCertPath: oidcCaCert,
    }),
    ...(brokerRequire.length > 0 && { require: requirement(brokerRequire) }),
  })
  return brokerWith(settings.broker, own, provider)
}

/** `hd=example.com`, `groups=a,b`, or `anyone`. */
function requirement(written: readonly string[]): unknown {
  if (written.length === 1 && written[0] === 'anyone') return 'anyone'
  return Object.fromEntries(
    written.map((text) => {
      const [claim = '', ...values] = text.split('=')
      return [claim, values.join('=').split(',')]
    }),
  )
}

/**
 * Only the outgoing half, for a program that sends its own requests to a server, with the server's own paths: it signs
 * in when the server requires it, and opens no port.
 */
export const client = (settings: ProxySettings): List => [
  { use: 'auth/anonymous' },
  ...outgoing(settings, { login: 'demand' }),
  forwarder({ ...settings, targetUri: new URL(settings.targetUri).origin }),
]

/** The credentials and headers that the target receives instead of the caller's own credentials, or beside them. */
export function outgoing(settings: ProxySettings, login: LoginManner = {}): Entry[] {
  const { remoteAuthBearerToken: token, remoteAuthBearerTokenFile: file } = settings
  const bearer = make.entry('credential/static-bearer', settings)
  const exchange = make.entry('credential/token-exchange', settings, {
    with: { scopes: settings.tokenExchangeScopes ?? [] },
  })
  return [
    ...(token === undefined && file === undefined ? [] : [bearer]),
    ...oauthEntries(settings, make, login),
    // After every credential whose token it could exchange.
    ...(settings.tokenExchangeUrl === undefined ? [] : [exchange]),
    ...addedHeaders(settings, make),
  ]
}

/** Sends requests to the target. */
export function forwarder(settings: ProxySettings): Entry {
  // Credentials that the proxy has not checked are meant for the target; checked ones are not (T8), unless a flag says
  // so.
  const unchecked = !checksCallers(settings)
  const entry = make.entry('forward/http', settings, {
    with: {
      forwardAuthorization: unchecked || settings.forwardAuthorization,
      forwardCookies: unchecked || settings.forwardCookies,
      removedPrefix: removedPrefix(settings),
    },
    from: { removedPrefix: 'resourceUrl' },
  })
  // Both have the same options.
  return settings.targetHttp2 ? { ...entry, use: 'forward/http2' } : entry
}

/** The prefix of the resource URL before the path of the target. Any other path there may belong to the target, too. */
function removedPrefix({ resourceUrl = '', targetUri }: ProxySettings): string | undefined {
  if (!URL.canParse(resourceUrl) || !URL.canParse(targetUri)) return undefined
  const [outside = '', inside = ''] = [resourceUrl, targetUri].map((url) =>
    new URL(url).pathname.replace(/\/$/, ''),
  )
  if (inside === '' || !outside.endsWith(inside)) return undefined
  const prefix = outside.slice(0, -inside.length).replace(/\/+$/, '')
  return prefix === '' ? undefined : prefix
}

type Settings = SettingsOf<typeof proxyTable>

/** Headers that the target receives, with the stores of those that are secrets. */
export function addedHeaders(settings: Settings, make: EntryMaker): Entry[] {
  const { remoteForwardHeaders: fixed, remoteForwardHeadersSecret: stored } = settings
  const stores: Entry[] = [
    { use: 'secrets/environment' },
    ...(settings.secretsDir === undefined ? [] : [make.entry('secrets/directory', settings)]),
    { use: 'secrets/keyring' },
    { use: 'secrets/encrypted-file' },
  ]
  return [
    ...headerEntry('headers/static', 'remoteForwardHeaders', fixed, 'value'),
    ...(stored.length === 0 ? [] : stores),
    ...headerEntry('headers/stored', 'remoteForwardHeadersSecret', stored, 'secret'),
    ...headerEntry('headers/identity', 'remoteForwardClaims', settings.remoteForwardClaims, 'claim'),
  ]
}

function headerEntry(
  use: string,
  setting: string,
  pairs: readonly (readonly [string, string])[],
  second: string,
): Entry[] {
  if (pairs.length === 0) return []
  const headers = pairs.map(([name, value]) => ({ name, [second]: value }))
  return [{ use, with: { headers }, origin: { headers: [setting] } }]
}
