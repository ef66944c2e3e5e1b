import { type Fetch, GatewayError } from 'sallyport'
import { type Claims, isObject, jsonObject } from './jwt.js'

/**
 * What an issuer says of itself: by OpenID Connect Discovery, else by RFC 8414. A document that names another
 * issuer, by as little as a slash, is refused (OIDC Discovery 4.3, RFC 8414 3.3): whoever can place one could name their own keys.
 */
export async function readIssuerMetadata(issuer: string, fetch: Fetch): Promise<Claims> {
  let answer = 'no answer'
  for (const url of metadataUrls(issuer)) {
    const response = await fetch(url, { headers: { accept: 'application/json' } })
    if (response.status !== 200) {
      answer = `status ${response.status}`
      continue
    }
    const metadata = jsonObject(await response.text())
    if (metadata === undefined) throw new GatewayError('DISCOVERY_MALFORMED', `${url} is not a JSON object`)
    if (metadata['issuer'] === issuer) return metadata
    throw new GatewayError('ISSUER_MISMATCH', `${url} is the document of another issuer than issuerUrl`)
  }
  throw new GatewayError('DISCOVERY_FAILED', `discovery of ${issuer} failed: ${answer}`)
}

/** The place of the keys that a document names. */
export function keysUrlIn({ jwks_uri: url }: Claims, issuer: string): string {
  if (typeof url === 'string' && URL.canParse(url)) return url
  throw new GatewayError('DISCOVERY_MALFORMED', `the metadata of ${issuer} names no jwks_uri`)
}

function metadataUrls(issuer: string): readonly string[] {
  const base = issuer.replace(/\/$/, '')
  const { origin, pathname } = new URL(base)
  const path = pathname === '/' ? '' : pathname
  return [
    `${base}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ]
}

/** A JWKS, as far as it must be one before jose reads it. */
export function isKeySet(value: unknown): value is { readonly keys: Claims[] } {
  return isObject(value) && Array.isArray(value['keys']) && value['keys'].every(isObject)
}
