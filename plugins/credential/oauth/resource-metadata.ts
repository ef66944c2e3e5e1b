import { type Fetch, UpstreamError } from 'sallyport'
import type { JsonObject } from 'sallyport/toolkit'
import type { Challenge } from './challenge.js'
import { readDocument, textIn, textsIn } from './documents.js'

/** The metadata of a target (RFC 9728). */
export interface ProtectedResource {
  readonly resource: string
  readonly issuers: readonly string[]
  readonly scopes: readonly string[] | undefined
}

/** The metadata at the URL in the challenge, else for the target's path, else for its origin. */
export async function readResource(
  target: string,
  { resourceMetadata }: Challenge,
  fetch: Fetch,
): Promise<ProtectedResource | undefined> {
  const { origin, pathname } = new URL(target)
  const path = pathname.replace(/\/$/, '')
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`
  const urls = [resourceMetadata, wellKnown + path, wellKnown].filter((url) => url !== undefined)
  for (const url of new Set(urls)) {
    const found = await readDocument(url, fetch)
    const resource = found === undefined ? undefined : textIn(found, 'resource')
    if (found !== undefined && resource !== undefined) return readProtectedResource(found, resource, target)
  }
  return undefined
}

function readProtectedResource(found: JsonObject, resource: string, target: string): ProtectedResource {
  if (!covers(resource, target)) {
    // A token for another resource must not go to this target (RFC 9728, 3.3).
    throw new UpstreamError(
      'RESOURCE_MISMATCH',
      'the resource metadata of the target is for another resource',
    )
  }
  return {
    resource,
    issuers: textsIn(found, 'authorization_servers') ?? [],
    scopes: textsIn(found, 'scopes_supported'),
  }
}

/** Whether a resource is the target or a parent path of it, at the same origin. */
function covers(resource: string, target: string): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false
  const [named, requested] = [new URL(resource), new URL(target)]
  if (named.origin !== requested.origin || named.username !== '' || named.password !== '') return false
  const parent = named.pathname.replace(/\/$/, '')
  return parent === '' || requested.pathname === parent || requested.pathname.startsWith(`${parent}/`)
}
