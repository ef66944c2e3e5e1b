import type { AuthorizationServer } from 'oauth4webapi'
import { type Fetch, UpstreamError } from 'sallyport'
import type { JsonObject } from 'sallyport/toolkit'
import { readDocument, textIn, textsIn } from './documents.js'

/** The metadata of an issuer, by RFC 8414 or OpenID Connect Discovery, in MCP's order. */
export async function readServer(
  issuer: string,
  fetch: Fetch,
  aliases: readonly string[] = [],
): Promise<AuthorizationServer | undefined> {
  for (const url of metadataUrls(issuer)) {
    const found = await readDocument(url, fetch)
    if (found === undefined) continue
    const named = textIn(found, 'issuer')
    // Byte for byte: an issuer that differs by as little as a slash is another one (RFC 8414, 3.3).
    if (named === undefined || ![issuer, ...aliases].includes(named)) throw mismatch(issuer, url)
    const server = { ...usable(found), issuer: named } as AuthorizationServer
    if (server.token_endpoint === undefined) throw withoutTokens(issuer)
    return server
  }
  return undefined
}

/** Without endpoints that are no URL: many servers write null for an endpoint that they do not have. */
const usable = (metadata: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(metadata).filter(([name, value]) => !name.endsWith('_endpoint') || isWebUrl(value)),
  )

const isWebUrl = (value: unknown): boolean =>
  typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)

function metadataUrls(issuer: string): readonly string[] {
  if (!URL.canParse(issuer))
    throw new UpstreamError('ISSUER_INVALID', 'the issuer that the target names is not a URL')
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const [oauth, openid] = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']
  if (path === '') return [origin + oauth, origin + openid]
  return [origin + oauth + path, origin + openid + path, origin + path + openid]
}

/** Refuses a server without PKCE, where a stolen code could be redeemed (RFC 7636; MCP requires S256). */
export function requirePkce(server: AuthorizationServer, mayBeUnstated: boolean): void {
  const methods = textsIn(server as JsonObject, 'code_challenge_methods_supported')
  if (methods === undefined ? mayBeUnstated : methods.includes('S256')) return
  throw new UpstreamError(
    'PKCE_UNSUPPORTED',
    `the issuer ${server.issuer} does not say that it supports PKCE with S256; if it does, set it as the issuer yourself`,
  )
}

const withoutTokens = (issuer: string): UpstreamError =>
  new UpstreamError('ISSUER_WITHOUT_METADATA', `the metadata of the issuer ${issuer} names no token endpoint`)

const mismatch = (issuer: string, url: string): UpstreamError =>
  new UpstreamError(
    'ISSUER_MISMATCH',
    `the metadata at ${new URL(url).origin} names another issuer than ${issuer}`,
  )
