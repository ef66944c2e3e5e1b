import type { AuthorizationServer } from 'oauth4webapi'
import { type Fetch, UpstreamError } from 'sallyport'
import type { Challenge } from './challenge.js'
import type { OAuthOptions } from './options.js'
import { type ResourceFacts, readResource } from './resource-metadata.js'
import { readServer, requirePkce } from './server-metadata.js'

/** Where tokens for the target come from, and what they are to be for. */
export interface Provider {
  readonly server: AuthorizationServer
  /** The resource indicator (RFC 8707); none when the operator wants none. */
  readonly resource: string | undefined
  /** Scopes that the resource says exist. */
  readonly scopes: readonly string[] | undefined
}

/** Finds the provider: what the operator wrote counts, then what the target says, then what targets of 2025-03-26 meant. */
export async function discover(options: OAuthOptions, challenge: Challenge, fetch: Fetch): Promise<Provider> {
  const { issuer, authorizationUrl, tokenUrl } = options
  if (authorizationUrl !== undefined || tokenUrl !== undefined) {
    return { server: writtenServer(options), resource: resourceFor(options, undefined), scopes: undefined }
  }
  if (issuer !== undefined) {
    // Some large issuers say nothing of PKCE and do it. Whoever names one vouches for it.
    const server = await requiredServer(issuer, fetch)
    if (usesCode(options)) requirePkce(server, true)
    return { server, resource: resourceFor(options, undefined), scopes: undefined }
  }
  const facts = await readResource(options.target, challenge, fetch)
  const server = await serverFor(facts, options, fetch)
  return { server, resource: resourceFor(options, facts), scopes: facts?.scopes }
}

const usesCode = ({ grant }: OAuthOptions): boolean => grant === 'authorization_code'

async function serverFor(
  facts: ResourceFacts | undefined,
  options: OAuthOptions,
  fetch: Fetch,
): Promise<AuthorizationServer> {
  // The first is taken: a client that went on to the next when one fails could be led there.
  const [named] = facts?.issuers ?? []
  // MCP of 2025-03-26: the target's origin is its own authorization server, and without metadata at fixed places.
  const { origin } = new URL(options.target)
  const found =
    named !== undefined ? await requiredServer(named, fetch) : await readServer(origin, fetch, [`${origin}/`])
  if (found === undefined) return defaultServer(origin)
  if (usesCode(options)) requirePkce(found, false)
  return found
}

const defaultServer = (origin: string): AuthorizationServer => ({
  issuer: origin,
  authorization_endpoint: `${origin}/authorize`,
  token_endpoint: `${origin}/token`,
  registration_endpoint: `${origin}/register`,
})

async function requiredServer(issuer: string, fetch: Fetch): Promise<AuthorizationServer> {
  const server = await readServer(issuer, fetch)
  if (server !== undefined) return server
  throw new UpstreamError(
    'ISSUER_WITHOUT_METADATA',
    `the issuer ${issuer} has no metadata where it is looked for`,
  )
}

/** Nobody names an issuer here, so the origin of the token endpoint stands for it. */
function writtenServer({ authorizationUrl, tokenUrl, issuer }: OAuthOptions): AuthorizationServer {
  return {
    issuer: issuer ?? new URL(tokenUrl ?? authorizationUrl ?? '').origin,
    ...(authorizationUrl !== undefined && { authorization_endpoint: authorizationUrl }),
    ...(tokenUrl !== undefined && { token_endpoint: tokenUrl }),
  }
}

function resourceFor(
  { resource, target }: OAuthOptions,
  facts: ResourceFacts | undefined,
): string | undefined {
  if (resource !== undefined) return resource === '' ? undefined : resource
  return facts?.resource ?? canonical(target)
}

/** MCP's canonical form of a target: without a slash that stands for nothing. */
function canonical(target: string): string {
  const { origin, pathname } = new URL(target)
  return pathname === '/' ? origin : origin + pathname
}
