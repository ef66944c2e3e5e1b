import type { Entry, List } from 'sallyport'
import { z } from 'zod'
import { incomingEntries } from './incoming.js'
import { exchangeEntries, exchangeSettings } from './proxy-exchange.js'
import { oauthEntries, oauthSettings } from './proxy-oauth.js'
import { isLoopback, proxyRules } from './proxy-rules.js'

const text = z.string().min(1)
const url = z
  .string()
  .refine((given) => /^https?:\/\//i.test(given) && URL.canParse(given), 'expected an http or https URL')
const secret = text.meta({ writeOnly: true })
const flag = z.boolean().default(false)

const fixedHeaders = z.array(z.tuple([text, secret])).default([])
const namedHeaders = z.array(z.tuple([text, text])).default([])

/** What `sallyport proxy` was told: its flags in camel case. */
export const ProxySettings = z
  .strictObject({
    name: text.default('mcp').describe('the target in logs, and the realm of the challenge'),
    targetUri: url.describe('the MCP server that requests are forwarded to; its path stands for `/`'),
    host: text.default('127.0.0.1').describe('host name or IP address to listen on'),
    port: z.int().min(0).max(65_535).default(0).describe('port to listen on; 0 takes a free one'),
    internalAddress: text.optional().describe('`HOST:PORT` of /health, /readiness, /version and /metrics'),
    allowedOrigins: z
      .array(text)
      .optional()
      .describe('browser origins that may use the proxy; those of loopback on a loopback host, unless given'),
    resourceUrl: url.optional().describe("the proxy's own URL as clients know it, for discovery (RFC 9728)"),

    oidcIssuer: url.optional().describe('issuer of the tokens that are accepted; turns the check on'),
    oidcAudience: text.optional().describe('audience that a token must be for'),
    oidcAnyAudience: flag.describe('accept tokens for any audience'),
    oidcClientId: text.optional().describe('client ID for introspection requests'),
    oidcClientSecret: secret.optional().describe('its secret'),
    oidcClientSecretFile: text.optional().describe('file that holds its secret'),
    oidcIntrospectionUrl: url.optional().describe('token introspection endpoint (RFC 7662)'),
    oidcJwksUrl: url.optional().describe("the issuer's keys; found by discovery unless given"),
    oidcScopes: z.array(text).default(['openid']).describe('scopes that discovery advertises'),
    oidcCaCert: text.optional().describe('file of CA certificates to trust for the issuer'),
    oidcAuthTokenFile: text.optional().describe('file with a token for key fetches and introspection'),
    oidcAllowPrivateIp: flag.describe('the issuer may be at a private or loopback address'),
    allowUnauthenticated: flag.describe('lend outgoing credentials to anybody who reaches the host'),

    remoteAuthBearerToken: secret.optional().describe('bearer token for the target'),
    remoteAuthBearerTokenFile: text.optional().describe('file that holds it; read again when it changes'),
    ...oauthSettings,
    ...exchangeSettings,

    remoteForwardHeaders: fixedHeaders.describe('headers to add to every request, as name and value'),
    remoteForwardHeadersSecret: namedHeaders.describe('headers to add, as name and name of a stored secret'),
    remoteForwardClaims: namedHeaders.describe("headers to add, as name and claim of the caller's token"),
    secretsDir: text.optional().describe('directory with one file for each secret'),
    forwardAuthorization: flag.describe("send the caller's Authorization on after it was checked here"),
    forwardCookies: flag.describe("send the caller's cookies on after its token was checked here"),
    forwardedHeaders: flag.describe('tell the target who asked, in Forwarded and X-Forwarded-*'),

    targetTimeout: z
      .int()
      .nonnegative()
      .optional()
      .describe('milliseconds for the target to begin its answer'),
    maxBody: z.int().positive().optional().describe('bytes of the largest request body'),
    maxConnections: z.int().positive().optional().describe('connections at once'),
  })
  .superRefine(proxyRules)

export type ProxySettings = z.output<typeof ProxySettings>

/**
 * A transparent proxy: guards, then who may come in, then what goes out, then the way to the target. `outside` is what
 * makes its main port known by a public address.
 */
export function proxy(settings: ProxySettings, outside: readonly Entry[] = []): List {
  return [
    ...doors(settings),
    ...outside,
    ...guards(settings, outside.length > 0 ? { public: true } : {}),
    ...incoming(settings, outside.length > 0),
    ...outgoing(settings),
    forwarder(settings),
  ]
}

function doors({ host, port, maxConnections, internalAddress }: ProxySettings): Entry[] {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const internal: Entry[] = [
    { use: 'internal/server', with: { address: internalAddress }, origin: { address: ['internalAddress'] } },
    { use: 'internal/metrics' },
  ]
  return [
    {
      use: 'listen/http',
      with: { address, ...given({ maxConnections }) },
      origin: { address: ['port'], maxConnections: ['maxConnections'] },
    },
    ...(internalAddress === undefined ? [] : internal),
  ]
}

function guards(
  { host, allowedOrigins, resourceUrl }: ProxySettings,
  known: { readonly public?: true },
): Entry[] {
  const loopback = isLoopback(host)
  // Behind something that ends TLS on this machine, callers know the proxy by this host.
  const allowed = resourceUrl === undefined ? [] : [new URL(resourceUrl).host]
  const own = loopback ? { loopback, ...known } : { any: true }
  const origins = allowedOrigins !== undefined ? { allowed: allowedOrigins } : own
  return [
    ...(loopback ? [{ use: 'guard/host', with: { allowed, loopback, ...known } }] : []),
    { use: 'guard/origin', with: origins, origin: { allowed: ['allowedOrigins'] } },
    // Where any origin passes, no page is handed the answers.
    ...('any' in origins ? [] : [{ use: 'http/cors' }]),
  ]
}

function incoming(settings: ProxySettings, reachable: boolean): Entry[] {
  const { name, oidcIssuer, oidcScopes, resourceUrl, targetUri } = settings
  if (oidcIssuer === undefined) {
    // Only who said so opens this to the internet.
    const known = reachable && settings.allowUnauthenticated
    return [{ use: 'auth/anonymous', ...(known && { with: { public: true } }) }]
  }
  const oauth = {
    realm: name,
    resourceUrl,
    publicPaths: [],
    scopes: oidcScopes,
    requiredScopes: [],
    // A proxy's callers are programs: they can come back.
    unavailableStatus: 503 as const,
    providers: [provider(settings, oidcIssuer)],
  }
  return incomingEntries(
    { mode: 'oauth', publicPaths: [], oauth },
    {
      // What the target has there is behind the gate like the rest of it.
      alwaysPublic: [],
      resourcePath: new URL(targetUri).pathname,
      origins: { provider: PROVIDER_ORIGIN, resource: { resource: ['resourceUrl'], scopes: ['oidcScopes'] } },
    },
  )
}

const PROVIDER_ORIGIN: Entry['origin'] = {
  issuerUrl: ['oidcIssuer'],
  audience: ['oidcAudience'],
  anyAudience: ['oidcAnyAudience'],
  clientId: ['oidcClientId'],
  clientSecret: ['oidcClientSecret'],
  clientSecretFile: ['oidcClientSecretFile'],
  introspectionUrl: ['oidcIntrospectionUrl'],
  jwksUrl: ['oidcJwksUrl'],
  caCertPath: ['oidcCaCert'],
  authTokenFile: ['oidcAuthTokenFile'],
  allowPrivateIP: ['oidcAllowPrivateIp'],
}

function provider(settings: ProxySettings, issuerUrl: string) {
  return {
    type: 'oidc',
    name: 'incoming',
    issuerUrl,
    anyAudience: settings.oidcAnyAudience,
    allowPrivateIP: settings.oidcAllowPrivateIp,
    ...given({
      audience: settings.oidcAudience,
      clientId: settings.oidcClientId,
      clientSecret: settings.oidcClientSecret,
      clientSecretFile: settings.oidcClientSecretFile,
      introspectionUrl: settings.oidcIntrospectionUrl,
      jwksUrl: settings.oidcJwksUrl,
      caCertPath: settings.oidcCaCert,
      authTokenFile: settings.oidcAuthTokenFile,
    }),
  }
}

/** What the target receives in place of the caller's own credentials, and beside them. */
export function outgoing(settings: ProxySettings): Entry[] {
  const { remoteAuthBearerToken: token, remoteAuthBearerTokenFile: file } = settings
  const bearer: Entry = {
    use: 'credential/static-bearer',
    // The value goes before the file, wherever the two were written.
    with: token === undefined ? { file } : { token },
    origin: { token: ['remoteAuthBearerToken'], file: ['remoteAuthBearerTokenFile'] },
  }
  return [
    ...(token === undefined && file === undefined ? [] : [bearer]),
    ...oauthEntries(settings),
    ...exchangeEntries(settings),
    ...addedHeaders(settings),
  ]
}

function addedHeaders(settings: ProxySettings): Entry[] {
  const { remoteForwardHeaders: fixed, remoteForwardHeadersSecret: stored, secretsDir: path } = settings
  const directory: Entry = { use: 'secrets/directory', with: { path }, origin: { path: ['secretsDir'] } }
  const stores: Entry[] = [
    { use: 'secrets/environment' },
    ...(path === undefined ? [] : [directory]),
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

/** The way to the target. */
export function forwarder(settings: ProxySettings): Entry {
  const { targetUri, oidcIssuer, forwardedHeaders, targetTimeout, maxBody } = settings
  const unchecked = oidcIssuer === undefined
  return {
    use: 'forward/http',
    with: {
      target: targetUri,
      // What was not checked here is meant for the target; what was is not (T8), unless somebody says so.
      forwardAuthorization: unchecked || settings.forwardAuthorization,
      forwardCookies: unchecked || settings.forwardCookies,
      forwardedHeaders,
      ...given({ targetTimeout, maxBody }),
    },
    origin: { target: ['targetUri'], targetTimeout: ['targetTimeout'], maxBody: ['maxBody'] },
  }
}

/** The fields that were set: an option that is there and undefined is not the same as one left out. */
export const given = (fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
