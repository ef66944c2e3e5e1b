import type { AuthorizationServer } from 'oauth4webapi'
import { type Fetch, UpstreamError } from 'sallyport'
import { type JsonDocument, readDocument, textIn, textsIn } from './documents.js'

/** What an issuer says of itself, by RFC 8414 or OpenID Connect Discovery, in MCP's order. Nothing when it says nothing. */
export async function readServer(
  issuer: string,
  fetch: Fetch,
  alike: readonly string[] = [],
): Promise<AuthorizationServer | undefined> {
  for (const place of metadataPlaces(issuer)) {
    const found = await readDocument(place, fetch)
    if (found === undefined) continue
    const named = textIn(found, 'issuer')
    // As bytes: a document of another issuer, by as little as a slash, could be anybody's (RFC 8414, 3.3).
    if (named === undefined || ![issuer, ...alike].includes(named)) throw mismatch(issuer, place)
    return { ...found, issuer: named } as AuthorizationServer
  }
  return undefined
}

function metadataPlaces(issuer: string): readonly string[] {
  if (!URL.canParse(issuer))
    throw new UpstreamError('ISSUER_INVALID', 'the target names an issuer that is no URL')
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const [oauth, openid] = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']
  if (path === '') return [origin + oauth, origin + openid]
  return [origin + oauth + path, origin + openid + path, origin + path + openid]
}

/** Refuses a server that would not hold a stolen code against whoever stole it (RFC 7636; MCP asks for S256). */
export function requirePkce(server: AuthorizationServer, mayBeSilent: boolean): void {
  const methods = textsIn(server as JsonDocument, 'code_challenge_methods_supported')
  if (methods === undefined ? mayBeSilent : methods.includes('S256')) return
  throw new UpstreamError(
    'PKCE_UNSUPPORTED',
    `the issuer ${server.issuer} does not say that it supports PKCE with S256; naming it as the issuer yourself vouches for it`,
  )
}

const mismatch = (issuer: string, place: string): UpstreamError =>
  new UpstreamError(
    'ISSUER_MISMATCH',
    `the metadata at ${new URL(place).origin} is not that of the issuer ${issuer}`,
  )
