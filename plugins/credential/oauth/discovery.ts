import type { AuthorizationServer } from 'oauth4webapi'
import { type Fetch, UpstreamError } from 'sallyport'
import type { Challenge } from './challenge.js'
import type { OAuthOptions } from './options.js'
import { type ProtectedResource, readResource } from './resource-metadata.js'
import { readServer, requirePkce } from './server-metadata.js'

/** The authorization server of the target, and the resource that tokens are requested for. */
export interface Provider {
  readonly server: AuthorizationServer
  /** The resource indicator (RFC 8707); `undefined` when the operator turned it off. */
  readonly resource: string | undefined
  /** `scopes_supported` of the resource. */
  readonly scopes: readonly string[] | undefined
}

/**
 * Finds the authorization server: by options, else by the target's metadata, else by the defaults of MCP 2025-03-26.
 */
export async function discover(options: OAuthOptions, challenge: Challenge, fetch: Fetch): Promise<Provider> {
  const { issuer, authorizationUrl, tokenUrl } = options
  if (authorizationUrl !== undefined || tokenUrl !== undefined) {
    return { server: configuredServer(options), resource: resourceFor(options, undefined), scopes: undefined }
  }
  if (issuer !== undefined) {
    // Some large issuers support PKCE but do not say so in their metadata. The operator has chosen this issuer.
    const server = await requiredServer(issuer, fetch)
    if (isCodeGrant(options)) requirePkce(server, true)
    return { server, resource: resourceFor(options, undefined), scopes: undefined }
  }
  const metadata = await readResource(options.target, challenge, fetch)
  const server = await serverFor(metadata, options, fetch)
  return { server, resource: resourceFor(options, metadata), scopes: metadata?.scopes }
}

const isCodeGrant = ({ grant }: OAuthOptions): boolean => grant === 'authorization_code'

async function serverFor(
  metadata: ProtectedResource | undefined,
  options: OAuthOptions,
  fetch: Fetch,
): Promise<AuthorizationServer> {
  // Always the first: otherwise an attacker who makes the first issuer fail could lead the client to the next one.
  const [named] = metadata?.issuers ?? []
  // MCP of 2025-03-26: the target's origin is its authorization server, without metadata at default paths.
  const { origin } = new URL(options.target)
  const found =
    named !== undefined ? await requiredServer(named, fetch) : await readServer(origin, fetch, [`${origin}/`])
  if (found === undefined) return defaultServer(origin)
  if (isCodeGrant(options)) requirePkce(found, false)
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
  throw new UpstreamError('ISSUER_WITHOUT_METADATA', `no metadata was found for the issuer ${issuer}`)
}

/** Without the option `issuer`, the origin of the token endpoint stands for it. */
function configuredServer({ authorizationUrl, tokenUrl, issuer }: OAuthOptions): AuthorizationServer {
  return {
    issuer: issuer ?? new URL(tokenUrl ?? authorizationUrl ?? '').origin,
    ...(authorizationUrl !== undefined && { authorization_endpoint: authorizationUrl }),
    ...(tokenUrl !== undefined && { token_endpoint: tokenUrl }),
  }
}

function resourceFor(
  { resource, target }: OAuthOptions,
  metadata: ProtectedResource | undefined,
): string | undefined {
  if (resource !== undefined) return resource === '' ? undefined : resource
  return metadata?.resource ?? canonical(target)
}

/** MCP's canonical form of a target: without a root path. */
function canonical(target: string): string {
  const { origin, pathname } = new URL(target)
  return pathname === '/' ? origin : origin + pathname
}
