const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** The path and query of a resource; empty for a lone slash after the host (RFC 9728, 3.1). */
export function pathOf(resource: string): string {
  const { pathname, search } = new URL(resource)
  return pathname === '/' ? search : pathname + search
}

/** The path of the document for a resource at this path. */
export const wellKnownPath = (path: string): string => WELL_KNOWN + path

/** The URL of a resource's document. */
export const metadataUrl = (resource: string): string =>
  new URL(resource).origin + wellKnownPath(pathOf(resource))
