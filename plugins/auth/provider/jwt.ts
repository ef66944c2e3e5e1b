import { jsonObject } from 'sallyport/toolkit'

/** The claims of a token or an introspection response, not validated. */
export type Claims = Readonly<Record<string, unknown>>

/** A decoded JWT, not verified. */
export interface UnverifiedJwt {
  readonly header: Claims
  readonly claims: Claims
}

/** Decodes a signed JWT; `undefined` for anything else, such as an encrypted one, which has five parts. */
export function readJwt(token: string): UnverifiedJwt | undefined {
  const [head, body, signature, ...more] = token.split('.', 4)
  if (head === undefined || body === undefined || signature === undefined || more.length > 0) return undefined
  const header = jsonObject(Buffer.from(head, 'base64url').toString())
  const claims = jsonObject(Buffer.from(body, 'base64url').toString())
  return header === undefined || claims === undefined ? undefined : { header, claims }
}

// Asymmetric ones only: with HMAC anybody could sign with a public key (RFC 8725, 3.1).
export const ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]

export const isAllowedAlgorithm = (algorithm: unknown): boolean =>
  typeof algorithm === 'string' && ALGORITHMS.includes(algorithm)

/** Whether a JWT is something other than an access token, by its header or claims. */
export function isOtherKind({ header, claims }: UnverifiedJwt, accessTokensOnly: boolean): boolean {
  const type = typeOf(header)
  if (type === 'at+jwt') return false
  if (accessTokensOnly || (type === undefined && header['typ'] !== undefined)) return true
  // Other media types are other kinds: introspection responses, DPoP proofs, logout tokens, grants.
  if (type?.endsWith('+jwt')) return true
  return areOfOtherKind(claims)
}

/** Whether claims, of a JWT or of an introspection response, are those of something other than an access token. */
export function areOfOtherKind({ at_hash, c_hash, typ, token_use: use, events }: Claims): boolean {
  // ID tokens have the type `JWT` or none, but hashes that access tokens do not have.
  const isIdToken = at_hash !== undefined || c_hash !== undefined
  // Keycloak, where refresh tokens are active too; Cognito and Hydra.
  const isNamed =
    KEYCLOAK_OTHERS.has(typ) || (use !== undefined && use !== 'access' && use !== 'access_token')
  // Older security events and logout tokens (RFC 8417).
  return isIdToken || isNamed || events !== undefined
}

const KEYCLOAK_OTHERS: ReadonlySet<unknown> = new Set(['ID', 'Refresh', 'Offline'])

function typeOf({ typ }: Claims): string | undefined {
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : undefined
}
