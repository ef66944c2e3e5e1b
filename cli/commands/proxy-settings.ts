import type { Address, GivenOptions, Invocation, Pair } from '../options/option.js'
import { proxyGroups } from '../options/proxy.js'
import type { SecretSetting } from '../options/secret.js'
import { secretOf } from '../options/secret.js'
import type { Values } from '../options/values.js'
import { valuesOf } from '../options/values.js'

export type ProxyValues = Values<typeof proxyGroups>

/** How the tokens of incoming requests are checked. */
export interface IncomingSettings {
  readonly issuer: string
  /** Missing only when any audience was asked for. */
  readonly audience: string | undefined
  readonly clientId: string | undefined
  readonly clientSecret: SecretSetting | undefined
  readonly introspectionUrl: string | undefined
  readonly jwksUrl: string | undefined
  readonly scopes: readonly string[]
  readonly caCertPath: string | undefined
  readonly authTokenFile: string | undefined
  readonly allowPrivateIP: boolean
}

/** What is added to requests on their way to the target, and what of the caller's own goes along. */
export interface OutgoingSettings {
  readonly bearerToken: SecretSetting | undefined
  readonly headers: readonly Pair[]
  /** Each value is the name of a stored secret. */
  readonly secretHeaders: readonly Pair[]
  readonly secretsDir: string | undefined
  readonly forwardAuthorization: boolean
  readonly forwardCookies: boolean
  readonly forwardedHeaders: boolean
}

export interface ProxySettings {
  readonly name: string
  readonly targetUri: string
  readonly host: string
  readonly port: number
  readonly internalAddress: Address | undefined
  /** Missing when none were given; an empty list allows none. */
  readonly allowedOrigins: readonly string[] | undefined
  readonly resourceUrl: string | undefined
  /** Missing when anybody may use the proxy. */
  readonly incoming: IncomingSettings | undefined
  readonly outgoing: OutgoingSettings
  readonly allowUnauthenticated: boolean
  /** Milliseconds. */
  readonly targetTimeout: number | undefined
  /** Bytes. */
  readonly maxBody: number | undefined
  readonly maxConnections: number | undefined
}

/** Groups what was given for `sallyport proxy` by what it is for. */
export function proxySettings({ positionals, given }: Invocation): ProxySettings {
  const values = valuesOf(proxyGroups, given)
  const [name = ''] = positionals
  return {
    name,
    targetUri: values['target-uri'],
    host: values.host,
    port: values.port,
    internalAddress: values['internal-address'],
    allowedOrigins:
      given.get('allowed-origins')?.source === 'default' ? undefined : values['allowed-origins'],
    resourceUrl: values['resource-url'],
    incoming: incomingSettings(values, given),
    outgoing: outgoingSettings(values, given),
    allowUnauthenticated: values['allow-unauthenticated'],
    targetTimeout: values['target-timeout'],
    maxBody: values['max-body'],
    maxConnections: values['max-connections'],
  }
}

function incomingSettings(values: ProxyValues, given: GivenOptions): IncomingSettings | undefined {
  const issuer = values['oidc-issuer']
  if (issuer === undefined) return undefined
  return {
    issuer,
    audience: values['oidc-audience'],
    clientId: values['oidc-client-id'],
    clientSecret: secretOf('oidc-client-secret', given),
    introspectionUrl: values['oidc-introspection-url'],
    jwksUrl: values['oidc-jwks-url'],
    scopes: values['oidc-scopes'],
    caCertPath: values['oidc-ca-cert'],
    authTokenFile: values['oidc-auth-token-file'],
    allowPrivateIP: values['oidc-allow-private-ip'],
  }
}

function outgoingSettings(values: ProxyValues, given: GivenOptions): OutgoingSettings {
  return {
    bearerToken: secretOf('remote-auth-bearer-token', given),
    headers: values['remote-forward-headers'],
    secretHeaders: values['remote-forward-headers-secret'],
    secretsDir: values['secrets-dir'],
    forwardAuthorization: values['forward-authorization'],
    forwardCookies: values['forward-cookies'],
    forwardedHeaders: values['forwarded-headers'],
  }
}
