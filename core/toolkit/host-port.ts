import { isIPv6 } from 'node:net'
import type { Address } from './option.js'

/** A port as it was written, 0 to 65535. */
export function parsePort(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined
  const port = Number(text)
  return port <= 65_535 ? port : undefined
}

/** `host:port` or `[v6]:port`. No host stands for all interfaces; that is written `0.0.0.0` or `[::]`. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s/@]+)):(\d+)$/.exec(text)
  if (match === null) return undefined
  const [, inBrackets, plain, digits = ''] = match
  if (inBrackets !== undefined && !isIPv6(inBrackets)) return undefined
  const host = inBrackets ?? plain
  const port = parsePort(digits)
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** An address as `parseAddress` reads it. */
export function addressText({ host, port }: Address): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}
