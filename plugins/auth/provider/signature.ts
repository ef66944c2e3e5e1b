import { constants, KeyObject, type VerifyKeyObjectInput, verify } from 'node:crypto'
import type { LocalJWKSet } from 'jose'
import * as errors from 'jose/errors'
import { compactVerify } from 'jose/jws/compact/verify'
import { jsonObject } from 'sallyport/toolkit'
import { ALGORITHMS, type Claims, type UnverifiedJwt } from './jwt.js'

/** The claims of a token with a valid signature, or why it has none. */
export type SignatureCheck =
  | { readonly claims: Claims }
  | { readonly failed: 'signature' | 'format' | 'no key' | 'key' }

const options = { algorithms: [...ALGORITHMS] }

/**
 * The keys of a provider (JWKS), and no others: `jwk`, `jku` and `x5u` in a header are ignored. The claims are decoded
 * from the signed payload.
 */
export class ProviderKeys {
  /** The keys that jose has selected and imported, by the `alg` and `kid` of the tokens. */
  private readonly selected = new Map<string, Verification>()

  constructor(private readonly set: LocalJWKSet) {}

  /** Whether a key that was selected before has signed the token. It is synchronous, so most requests need not wait. */
  haveSigned(token: string, { header }: UnverifiedJwt): boolean {
    const verification = this.selected.get(nameOf(header) ?? '')
    return verification !== undefined && isSignedBy(verification, token)
  }

  /** For a token that `haveSigned` does not confirm. */
  async check(token: string, jwt: UnverifiedJwt): Promise<SignatureCheck> {
    try {
      if (await this.isSignedByNewKey(token, jwt)) return { claims: jwt.claims }
      return signed(await compactVerify(token, this.set, options))
    } catch (error) {
      if (error instanceof errors.JWKSMultipleMatchingKeys) return tryEach(token, error)
      return failure(error)
    }
  }

  private async isSignedByNewKey(token: string, { header }: UnverifiedJwt): Promise<boolean> {
    const name = nameOf(header)
    if (name === undefined || this.selected.has(name)) return false
    const { alg, kid } = header as { alg: string; kid?: string }
    const key = KeyObject.from(await this.set({ alg, ...(kid !== undefined && { kid }) }))
    const { modulusLength = RSA_MIN_BITS } = key.asymmetricKeyDetails ?? {}
    if (modulusLength < RSA_MIN_BITS) return false
    const verification = verificationWith(key, alg)
    this.selected.set(name, verification)
    return isSignedBy(verification, token)
  }
}

function nameOf({ alg, kid }: Claims): string | undefined {
  if (typeof alg !== 'string' || (kid !== undefined && typeof kid !== 'string')) return undefined
  return kid === undefined ? alg : `${alg} ${kid}`
}

/** How a key verifies signatures of one algorithm. */
interface Verification {
  readonly hash: string | null
  readonly key: VerifyKeyObjectInput
}

const PSS = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
const ECDSA = { dsaEncoding: 'ieee-p1363' } as const
const RSA_MIN_BITS = 2048
const THREE_PARTS = /^[\w-]+\.[\w-]+\.[\w-]+$/

const verificationWith = (key: KeyObject, algorithm: string): Verification => ({
  hash: algorithm.startsWith('Ed') ? null : `sha${algorithm.slice(2)}`,
  key: { key, ...(algorithm.startsWith('PS') && PSS), ...(algorithm.startsWith('ES') && ECDSA) },
})

/**
 * Verifies on this thread: a quarter of the CPU time of WebCrypto, which hands each signature to another thread. It
 * does not say why a signature is not valid: jose decides that.
 */
function isSignedBy({ hash, key }: Verification, token: string): boolean {
  if (!THREE_PARTS.test(token)) return false
  const end = token.lastIndexOf('.')
  const signature = Buffer.from(token.slice(end + 1), 'base64url')
  try {
    return verify(hash, Buffer.from(token.slice(0, end)), key, signature)
  } catch {
    return false
  }
}

// For a token without `kid` when several keys are suitable: one of them must verify the token.
async function tryEach(token: string, keys: errors.JWKSMultipleMatchingKeys): Promise<SignatureCheck> {
  for await (const key of keys) {
    try {
      return signed(await compactVerify(token, key, options))
    } catch (error) {
      const checked = failure(error)
      if (checked.failed === 'format') return checked
    }
  }
  return { failed: 'signature' }
}

function signed({ payload }: { readonly payload: Uint8Array }): SignatureCheck {
  const claims = jsonObject(Buffer.from(payload).toString())
  return claims === undefined ? { failed: 'format' } : { claims }
}

function failure(error: unknown): Extract<SignatureCheck, { failed: unknown }> {
  if (error instanceof errors.JWKSNoMatchingKey) return { failed: 'no key' }
  if (error instanceof errors.JWSSignatureVerificationFailed) return { failed: 'signature' }
  if (error instanceof errors.JWSInvalid || error instanceof errors.JOSENotSupported)
    return { failed: 'format' }
  // Otherwise the key cannot be imported, or is too weak.
  return { failed: 'key' }
}
