import { isIP } from 'node:net'
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js'

/**
 * Whether an address is public on the internet. Everything else (loopback, private, link-local, shared, reserved, and
 * what is no address at all) counts as private.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  return isIPv4(parsed) ? parsed.range() === 'unicast' : isPublicIPv6(parsed)
}

/**
 * Whether a URL's host is this machine or an address of a private or link-local network (RFC 1918, RFC 3927, RFC
 * 4193), where plain text stays inside. Undefined for a name: the addresses that it resolves to decide.
 */
export function isInLocalNetwork(url: URL): boolean | undefined {
  const address = addressIn(url)
  if (address === undefined) return namesLoopback(url) ? true : undefined
  return isLocalAddress(address)
}

export function isLocalAddress(address: string): boolean {
  return ipaddr.isValid(address) && LOCAL_RANGES.has(ipaddr.process(address).range())
}

const LOCAL_RANGES: ReadonlySet<string> = new Set(['loopback', 'private', 'linkLocal', 'uniqueLocal'])

function isPublicIPv6(address: IPv6): boolean {
  const embedded = embeddedIPv4(address)
  if (embedded.length > 0) return embedded.every((inner) => inner.range() === 'unicast')

  // Only 2000::/3 is allocated. For addresses outside it, such as ::127.0.0.1, `range` may still return unicast.
  return (address.parts[0] ?? 0) >> 13 === 1 && address.range() === 'unicast'
}

/** The IPv4 addresses that a translator would use for an IPv6 address: they decide whether it is public. */
function embeddedIPv4({ parts }: IPv6): IPv4[] {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = parts
  const zeros = (...words: readonly number[]) => words.every((word) => word === 0)

  if (zeros(a, b, c, d, e) && f === 0xffff) return [fromWords(g, h)] // mapped, RFC 4291
  if (zeros(a, b, c, d, f) && e === 0xffff) return [fromWords(g, h)] // translated, RFC 2765
  if (a === 0x64 && b === 0xff9b && zeros(c, d, e, f)) return [fromWords(g, h)] // NAT64, RFC 6052
  if (a === 0x2002) return [fromWords(b, c)] // 6to4, RFC 3056
  if (a === 0x2001 && b === 0) return [fromWords(c, d), fromWords(~g, ~h)] // Teredo, RFC 4380: server, client
  return []
}

function fromWords(high: number, low: number): IPv4 {
  return new ipaddr.IPv4([(high >> 8) & 0xff, high & 0xff, (low >> 8) & 0xff, low & 0xff])
}

function isIPv4(address: IPv4 | IPv6): address is IPv4 {
  return address.kind() === 'ipv4'
}

/** The host of a URL as an address, when it is one: `URL` has normalized other notations of it. */
export function addressIn(url: URL): string | undefined {
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
  return ipaddr.isValid(host) ? host : undefined
}

/** Whether the host of a URL is loopback, without resolving a name. */
export function namesLoopback(url: URL): boolean {
  const address = addressIn(url)
  if (address !== undefined) return ipaddr.parse(address).range() === 'loopback'
  return /(?:^|\.)localhost\.?$/.test(url.hostname)
}

/**
 * Whether only this machine reaches a listener on this host. The only name is `localhost`: other names may resolve
 * to anything.
 */
export const isLoopbackHost = (host: string): boolean =>
  host.toLowerCase() === 'localhost' || (isIP(host) !== 0 && ipaddr.parse(host).range() === 'loopback')
