import { GatewayError, isJsonObject, type JsonObject } from 'sallyport'

/** The place of the keys that a document names. */
export function keysUrlIn({ jwks_uri: url }: JsonObject, issuer: string): string {
  if (typeof url === 'string' && URL.canParse(url)) return url
  throw new GatewayError('DISCOVERY_MALFORMED', `the metadata of ${issuer} names no jwks_uri`)
}

/** A JWKS, as far as it must be one before jose reads it. */
export function isKeySet(value: unknown): value is { readonly keys: JsonObject[] } {
  return isJsonObject(value) && Array.isArray(value['keys']) && value['keys'].every(isJsonObject)
}
