import { z } from 'zod'
import { type BesideExchange, exchangeRules } from './proxy-exchange.js'
import { type BesideOAuth, oauthRules, signsIn } from './proxy-oauth.js'

/** The settings that rules of more than one flag look at. */
interface Related extends BesideExchange, BesideOAuth {
  readonly targetUri: string
  readonly host: string
  readonly allowedOrigins?: readonly string[] | undefined
  readonly oidcIssuer?: string | undefined
  readonly oidcAudience?: string | undefined
  readonly oidcAnyAudience: boolean
  readonly oidcClientId?: string | undefined
  readonly oidcClientSecret?: string | undefined
  readonly oidcClientSecretFile?: string | undefined
  readonly oidcIntrospectionUrl?: string | undefined
  readonly oidcJwksUrl?: string | undefined
  readonly oidcCaCert?: string | undefined
  readonly oidcAuthTokenFile?: string | undefined
  readonly oidcAllowPrivateIp: boolean
  readonly allowUnauthenticated: boolean
  readonly remoteAuth: boolean
  readonly remoteAuthBearerToken?: string | undefined
  readonly remoteAuthBearerTokenFile?: string | undefined
  readonly remoteForwardHeaders: readonly unknown[]
  readonly remoteForwardHeadersSecret: readonly unknown[]
  readonly remoteForwardClaims: readonly unknown[]
}

type Complain = (setting: keyof Related, message: string) => void

/** What one flag alone cannot show to be wrong. */
export function proxyRules(settings: Related, context: z.core.$RefinementCtx): void {
  const complain: Complain = (setting, message) =>
    context.issues.push({ code: 'custom', input: undefined, path: [setting], message, continue: true })
  target(settings, complain)
  listening(settings, complain)
  if (settings.oidcIssuer === undefined) withoutIssuer(settings, complain)
  else withIssuer(settings, complain)
  oauthRules(settings, complain)
  exchangeRules(settings, complain)
  lending(settings, complain)
}

function target({ targetUri }: Related, complain: Complain): void {
  if (!URL.canParse(targetUri)) return
  const { username, password } = new URL(targetUri)
  if (/[?#]/.test(targetUri)) complain('targetUri', 'expected a URL without query and fragment')
  if (username !== '' || password !== '') {
    complain(
      'targetUri',
      'expected a URL without user and password: --remote-auth-bearer-token-file and --remote-forward-headers-secret carry credentials',
    )
  }
}

function listening({ host, allowedOrigins = [] }: Related, complain: Complain): void {
  if (!isHost(host)) complain('host', 'expected a host name or an IP address, without port and brackets')
  if (allowedOrigins.every((origin) => ORIGIN.test(origin))) return
  complain(
    'allowedOrigins',
    'expected origins as browsers send them, such as https://app.example.com, without a path',
  )
}

const isHost = (host: string): boolean =>
  /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i.test(host) || z.ipv6().safeParse(host).success
// A browser writes no upper case, no path and no default port, and what it does not write never matches.
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/\s?#@*A-Z]+$/

function withIssuer(settings: Related, complain: Complain): void {
  const { oidcAudience, oidcAnyAudience, oidcClientId, oidcClientSecret, oidcClientSecretFile } = settings
  if (oidcAudience === undefined && !oidcAnyAudience) {
    complain('oidcAudience', 'is required with --oidc-issuer, unless --oidc-any-audience is given')
  }
  if (oidcAudience !== undefined && oidcAnyAudience) {
    complain('oidcAnyAudience', 'stands against --oidc-audience: expected one of the two')
  }
  if (oidcClientId !== undefined) return
  if (oidcClientSecret !== undefined) complain('oidcClientSecret', 'needs --oidc-client-id')
  if (oidcClientSecretFile !== undefined) complain('oidcClientSecretFile', 'needs --oidc-client-id')
}

const NEED_ISSUER = [
  'oidcAudience',
  'oidcAnyAudience',
  'oidcClientId',
  'oidcClientSecret',
  'oidcClientSecretFile',
  'oidcIntrospectionUrl',
  'oidcJwksUrl',
  'oidcCaCert',
  'oidcAuthTokenFile',
  'oidcAllowPrivateIp',
] as const

// Whoever wrote one of these believes that tokens are checked. Without an issuer none would be.
function withoutIssuer(settings: Related, complain: Complain): void {
  for (const setting of NEED_ISSUER) {
    const value = settings[setting]
    if (value === undefined || value === false) continue
    complain(setting, 'needs --oidc-issuer: without it no token is checked')
  }
  if (settings.remoteForwardClaims.length > 0) {
    complain('remoteForwardClaims', 'needs --oidc-issuer: without it no caller has claims')
  }
}

function lending(settings: Related, complain: Complain): void {
  const { host, oidcIssuer, allowUnauthenticated } = settings
  if (!lends(settings) || oidcIssuer !== undefined || allowUnauthenticated || isLoopback(host)) return
  complain(
    'host',
    'would lend the outgoing credentials to anybody on the network: expected a loopback host, --oidc-issuer, or --allow-unauthenticated',
  )
}

const lends = (settings: Related): boolean =>
  signsIn(settings) ||
  settings.remoteAuthBearerToken !== undefined ||
  settings.remoteAuthBearerTokenFile !== undefined ||
  settings.remoteForwardHeaders.length + settings.remoteForwardHeadersSecret.length > 0

/** Whether only this machine can reach what listens there. */
export const isLoopback = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
