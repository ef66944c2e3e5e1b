import { isIP, isIPv4 } from 'node:net'
import type { Problem } from 'sallyport/problem'
import type { GivenOptions } from '../options/option.js'
import type { ProxySettings } from './proxy-settings.js'

/** What one flag alone cannot show to be wrong. */
export function proxyProblems(settings: ProxySettings, given: GivenOptions): readonly Problem[] {
  return [
    ...targetProblems(settings, given),
    ...hostProblems(settings, given),
    ...originProblems(settings, given),
    ...incomingProblems(settings, given),
    ...lendingProblems(settings, given),
  ]
}

function targetProblems({ targetUri }: ProxySettings, given: GivenOptions): readonly Problem[] {
  const message = 'has a query, a URL without one is expected'
  return targetUri.includes('?') ? [{ place: placeOf('target-uri', given), message }] : []
}

function hostProblems({ host }: ProxySettings, given: GivenOptions): readonly Problem[] {
  const isHost = isIP(host) !== 0 || /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i.test(host)
  const message = 'a host name or an IP address is expected, without port and brackets'
  return isHost ? [] : [{ place: placeOf('host', given), message }]
}

function originProblems({ allowedOrigins = [] }: ProxySettings, given: GivenOptions): readonly Problem[] {
  const areOrigins = allowedOrigins.every((origin) => /^[a-z][a-z\d+.-]*:\/\/[^/\s?#@*A-Z]+$/.test(origin))
  const message =
    'origins as browsers send them are expected, such as https://app.example.com, without a path'
  return areOrigins ? [] : [{ place: placeOf('allowed-origins', given), message }]
}

function incomingProblems({ incoming }: ProxySettings, given: GivenOptions): readonly Problem[] {
  if (incoming === undefined) return withoutIssuer(given)
  const { audience, clientId, clientSecret } = incoming
  const anyAudience = given.get('oidc-any-audience')?.value === true
  const problems: Problem[] = []
  if (audience === undefined && !anyAudience) {
    const message = 'is required with --oidc-issuer, unless --oidc-any-audience is given'
    problems.push({ place: '--oidc-audience', message })
  }
  if (audience !== undefined && anyAudience) {
    const message = 'stands against --oidc-audience, one of the two is expected'
    problems.push({ place: placeOf('oidc-any-audience', given), message })
  }
  if (clientSecret !== undefined && clientId === undefined) {
    problems.push({
      place: clientSecret.place,
      message: 'needs --oidc-client-id',
    })
  }
  return problems
}

// Whoever wrote one of these believes that tokens are checked. Without an issuer none would be.
function withoutIssuer(given: GivenOptions): readonly Problem[] {
  return [...given]
    .filter(([name]) => name.startsWith('oidc-') && name !== 'oidc-scopes')
    .filter(([, { source, value }]) => source !== 'default' && value !== false)
    .map(([, { place }]) => ({
      place,
      message: 'needs --oidc-issuer: without it no token is checked',
    }))
}

function lendingProblems(settings: ProxySettings, given: GivenOptions): readonly Problem[] {
  const { host, incoming, outgoing, allowUnauthenticated } = settings
  const { bearerToken, headers, secretHeaders } = outgoing
  const lends = bearerToken !== undefined || headers.length + secretHeaders.length > 0
  if (!lends || incoming !== undefined || allowUnauthenticated || isLoopback(host)) return []
  const message =
    'would lend the outgoing credentials to anybody on the network: a loopback host, --oidc-issuer, or --allow-unauthenticated is expected'
  return [{ place: placeOf('host', given), message }]
}

function isLoopback(host: string): boolean {
  return host.toLowerCase() === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

function placeOf(name: string, given: GivenOptions): string {
  return given.get(name)?.place ?? `--${name}`
}
