import type { LocalJWKSet } from 'jose'
import * as errors from 'jose/errors'
import { compactVerify } from 'jose/jws/compact/verify'
import { jsonObject } from 'sallyport'
import { ALGORITHMS, type Claims } from './jwt.js'

/** The claims of a token whose signature holds, or what kept it from being so. */
export type Checked =
  | { readonly claims: Claims }
  | { readonly failed: 'signature' | 'format' | 'no key' | 'key' }

const options = { algorithms: [...ALGORITHMS] }

/**
 * Verifies by the provider's own keys and nothing else: `jwk`, `jku` and `x5u` in a header are never followed. The claims are
 * the ones that were signed, not an earlier reading of the token.
 */
export async function checkSignature(token: string, keys: LocalJWKSet): Promise<Checked> {
  try {
    return signed(await compactVerify(token, keys, options))
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return tryEach(token, error)
    return failure(error)
  }
}

// A token without `kid` from a provider with several keys: one of them must fit.
async function tryEach(token: string, keys: errors.JWKSMultipleMatchingKeys): Promise<Checked> {
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

function signed({ payload }: { readonly payload: Uint8Array }): Checked {
  const claims = jsonObject(Buffer.from(payload).toString())
  return claims === undefined ? { failed: 'format' } : { claims }
}

function failure(error: unknown): Extract<Checked, { failed: unknown }> {
  if (error instanceof errors.JWKSNoMatchingKey) return { failed: 'no key' }
  if (error instanceof errors.JWSSignatureVerificationFailed) return { failed: 'signature' }
  if (error instanceof errors.JWSInvalid || error instanceof errors.JOSENotSupported)
    return { failed: 'format' }
  // What is left is about the key: it cannot be imported, or is too weak to trust.
  return { failed: 'key' }
}
