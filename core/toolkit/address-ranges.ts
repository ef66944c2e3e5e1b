import { BlockList, isIP, isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import { z } from 'zod'

/** The canonical form of an address: without a zone, in lower case, and IPv4 also for an address that IPv6 maps. */
export function normalizedAddress(text: string): string | undefined {
  if (isIPv4(text)) return text
  const [address = ''] = text.split('%', 1)
  if (isIP(address) === 0 || !ipaddr.isValid(address)) return undefined
  return ipaddr.process(address).toString()
}

interface Range {
  readonly address: string
  readonly bits: number
}

/** `10.0.0.0/8`, `fd00::/8`, or an address, which is a range of one. */
function rangeOf(text: string): Range | undefined {
  const [, written = '', digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = written.includes('%') ? undefined : normalizedAddress(written)
  if (address === undefined) return undefined
  const [width, length] = [isIPv4(written) ? 32 : 128, isIPv4(address) ? 32 : 128]
  // A range of mapped addresses is one of IPv4.
  const bits = Number(digits ?? width) - (width - length)
  return bits >= 0 && bits <= length ? { address, bits } : undefined
}

/** An option that is an address or a range of addresses. */
export function addressRange() {
  return z
    .string()
    .refine(
      (text) => rangeOf(text) !== undefined,
      'expected an IP address or a range of them, such as 10.0.0.0/8 or fd00::/8',
    )
}

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIPv4(address) ? 'ipv4' : 'ipv6')

/** A set of addresses. A text that is no range adds no address. */
export class AddressRanges {
  private readonly list = new BlockList()

  constructor(ranges: readonly string[]) {
    for (const text of ranges) {
      const range = rangeOf(text)
      if (range !== undefined) this.list.addSubnet(range.address, range.bits, familyOf(range.address))
    }
  }

  /** For an address as `normalizedAddress` returns it. */
  includes(address: string): boolean {
    return this.list.check(address, familyOf(address))
  }
}
