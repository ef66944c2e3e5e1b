import { isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { ConfigError } from '../contract/errors.js'
import { addressIn, namesLoopback } from '../toolkit/address.js'
import { portOf } from '../toolkit/host-port.js'

export type Environment = Readonly<Record<string, string | undefined>>

/** The proxy that a request to `url` goes through, or `undefined` for a direct one. */
export type ProxyChoice = (url: URL) => string | undefined

type Exclusion = (url: URL) => boolean

/**
 * Reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY. By hand: undici's reader reads the environment of the process anew at
 * each request, and knows no CIDR, with which NO_PROXY names a cluster. Requests to this machine never go through a
 * proxy.
 */
export function proxyChoice(environment: Environment): ProxyChoice {
  // Empty means unset, as everywhere.
  const read = (name: string) =>
    [environment[name], environment[name.toUpperCase()]].find((value) => value !== '' && value !== undefined)
  const https = proxyUrl('HTTPS_PROXY', read('https_proxy'))
  const http = proxyUrl('HTTP_PROXY', read('http_proxy'))
  if (https === undefined && http === undefined) return () => undefined

  const exclusions = (read('no_proxy') ?? '')
    .split(/[,\s]+/)
    .filter(Boolean)
    .map(exclusion)
  return (url) => {
    if (namesLoopback(url) || exclusions.some((isExcluded) => isExcluded(url))) return undefined
    return url.protocol === 'https:' ? https : http
  }
}

function proxyUrl(name: string, written: string | undefined): string | undefined {
  if (written === undefined) return undefined
  const text = written.includes('://') ? written : `http://${written}`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if ((url?.protocol === 'http:' || url?.protocol === 'https:') && isDecodable(url)) return url.href

  // The message leaves out the value, which often holds a password.
  throw new ConfigError([{ place: name, message: 'expected a URL of http or https, percent-encoded' }])
}

/** Whether user and password can be sent: bytes that are not UTF-8 cannot. */
function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username + password)
    return true
  } catch {
    return false
  }
}

function exclusion(entry: string): Exclusion {
  if (entry === '*') return () => true
  if (ipaddr.isValidCIDR(entry)) return withinRange(entry)

  const [, named = entry, port] = /^(\[.*\]|[^:]+):(\d+)$/.exec(entry) ?? []
  const name = hostIn(named.replace(/^\*?\./, ''))
  return (url) => {
    if (port !== undefined && Number(port) !== portOf(url)) return false
    const host = hostOf(url)
    return host === name || host.endsWith(`.${name}`)
  }
}

/** The host as `URL` writes it: other spellings of an address or a name are the same host. */
function hostIn(text: string): string {
  const written = `http://${isIPv6(text) ? `[${text}]` : text}`
  return URL.canParse(written) ? hostOf(new URL(written)) : text
}

/** The host without a final dot: clusters end a name with a dot, so that it is looked up as it is. */
const hostOf = (url: URL): string => addressIn(url) ?? url.hostname.replace(/\.$/, '')

function withinRange(cidr: string): Exclusion {
  const [network, bits] = ipaddr.parseCIDR(cidr)
  return (url) => {
    const address = addressIn(url)
    if (address === undefined) return false
    const parsed = ipaddr.parse(address)
    return parsed.kind() === network.kind() && parsed.match(network, bits)
  }
}
