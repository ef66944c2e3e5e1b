import { type Fetch, UpstreamError } from 'sallyport'
import type { Challenge } from './challenge.js'
import { type JsonDocument, readDocument, textIn, textsIn } from './documents.js'

/** What a target says of itself (RFC 9728). */
export interface ResourceFacts {
  readonly resource: string
  readonly issuers: readonly string[]
  readonly scopes: readonly string[] | undefined
}

/** The place that the challenge names, else below the target's path, else at the root. Nothing when none has one. */
export async function readResource(
  target: string,
  { resourceMetadata }: Challenge,
  fetch: Fetch,
): Promise<ResourceFacts | undefined> {
  const { origin, pathname } = new URL(target)
  const path = pathname.replace(/\/$/, '')
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`
  const places = [resourceMetadata, wellKnown + path, wellKnown].filter((place) => place !== undefined)
  for (const place of new Set(places)) {
    const found = await readDocument(place, fetch)
    const resource = found === undefined ? undefined : textIn(found, 'resource')
    if (found !== undefined && resource !== undefined) return facts(found, resource, target)
  }
  return undefined
}

function facts(found: JsonDocument, resource: string, target: string): ResourceFacts {
  if (!covers(resource, target)) {
    // Somebody else's document: a token for that resource must not go to this target (RFC 9728, 3.3).
    throw new UpstreamError(
      'RESOURCE_MISMATCH',
      'the resource metadata of the target is that of another resource',
    )
  }
  return {
    resource,
    issuers: textsIn(found, 'authorization_servers') ?? [],
    scopes: textsIn(found, 'scopes_supported'),
  }
}

/** Whether a resource is the target, or something above it at the same origin. */
function covers(resource: string, target: string): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false
  const [named, asked] = [new URL(resource), new URL(target)]
  if (named.origin !== asked.origin || named.username !== '' || named.password !== '') return false
  const above = named.pathname.replace(/\/$/, '')
  return above === '' || asked.pathname === above || asked.pathname.startsWith(`${above}/`)
}
