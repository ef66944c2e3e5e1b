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

// Asymmetric algorithms only: with HMAC an attacker could sign with the public key as the secret (RFC 8725, 3.1).
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

/** Which kinds of token a provider accepts. */
export interface AcceptedKinds {
  readonly requireAccessTokenType: boolean
  readonly acceptIdTokens: boolean
}

/** Whether the header or claims of a JWT show a kind of token that is not accepted. */
export function isOtherKind({ header, claims }: UnverifiedJwt, accepted: AcceptedKinds): boolean {
  const type = typeOf(header)
  if (type === 'at+jwt') return false
  if (accepted.requireAccessTokenType || (type === undefined && header['typ'] !== undefined)) return true
  // Other media types are other kinds: introspection responses, DPoP proofs, logout tokens, grants.
  if (type?.endsWith('+jwt')) return true
  return areOfOtherKind(claims, accepted)
}

/** Whether claims, of a JWT or of an introspection response, show a kind of token that is not accepted. */
export function areOfOtherKind(claims: Claims, { acceptIdTokens }: AcceptedKinds): boolean {
  const { typ, token_use: use, events } = claims
  if (isIdToken(claims) && !acceptIdTokens) return true
  // Keycloak, where refresh tokens are active too; Cognito and Hydra.
  const isNamed = KEYCLOAK_OTHERS.has(typ) || (use !== undefined && !USES.has(use))
  // Older security events and logout tokens (RFC 8417).
  return isNamed || events !== undefined
}

/**
 * ID tokens have the type `JWT` or none. They hold hashes that access tokens do not have, or Keycloak and Cognito name
 * their kind in a claim.
 */
export const isIdToken = ({ at_hash, c_hash, typ, token_use: use }: Claims): boolean =>
  at_hash !== undefined || c_hash !== undefined || typ === 'ID' || use === 'id'

const KEYCLOAK_OTHERS: ReadonlySet<unknown> = new Set(['Refresh', 'Offline'])
const USES: ReadonlySet<unknown> = new Set(['access', 'access_token', 'id'])

function typeOf({ typ }: Claims): string | undefined {
  return typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : undefined
}
