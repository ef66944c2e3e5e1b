import { isIPv6 } from 'node:net'

export interface HostPort {
  readonly host: string
  readonly port: number
}

/** A port from 0 to 65535. */
export function parsePort(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text)) return undefined
  const port = Number(text)
  return port <= 65_535 ? port : undefined
}

/** The port of a URL; `URL` leaves out the default port of its scheme. */
export const portOf = ({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

/** `HOST:PORT` or `[V6]:PORT`, the host without brackets. All interfaces are `0.0.0.0` or `[::]`. */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s/@]+)):(\d+)$/.exec(text)
  if (match === null) return undefined
  const [, inBrackets, plain, digits = ''] = match
  if (inBrackets !== undefined && !isIPv6(inBrackets)) return undefined
  const host = inBrackets ?? plain
  const port = parsePort(digits)
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** The text that `parseHostPort` reads. */
export function formatHostPort({ host, port }: HostPort): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}
