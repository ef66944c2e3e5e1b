import type { Addresses } from 'sallyport'

/** The end of a ready line: the text `more`, and the address of health and metrics, if they have a port. */
export function internalPart({ internal }: Addresses, more?: string): string {
  const parts = [more, internal && `health and metrics on ${internal}`].filter((part) => part !== undefined)
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`
}

interface Signing {
  readonly targetUri: string
  readonly oidcIssuer?: string | undefined
  readonly resourceUrl?: string | undefined
}

/** A client that discovers the issuer compares its own URL with that of the resource (RFC 9728, 3.3). */
export function clientsPart(
  { targetUri, oidcIssuer, resourceUrl }: Signing,
  address: string | undefined = '',
): string | undefined {
  if (oidcIssuer === undefined) return undefined
  const { pathname } = new URL(targetUri)
  const url = resourceUrl ?? (pathname === '/' ? address : address + pathname)
  return url === address ? undefined : `clients that sign in use ${url}`
}
