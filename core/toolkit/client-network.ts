import { isIPv6 } from 'node:net'

/**
 * The network that counts as one client: the first 64 bits of IPv6, since a customer has at least all addresses
 * below them.
 */
export function networkOf(address: string): string {
  // An IPv6 address that maps IPv4 is one address.
  if (!isIPv6(address) || address.includes('.')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - groups.length - last.length }, () => '0')
  const bits = [...groups, ...zeros, ...last].slice(0, 4).map((group) => Number.parseInt(group, 16))
  return `${bits.map((each) => each.toString(16)).join(':')}::/64`
}
