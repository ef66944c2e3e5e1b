import { createLocalJWKSet } from 'jose/jwks/local'
import type { Authenticator, Gateway } from 'sallyport'
import type { JsonObject } from 'sallyport/toolkit'
import { authenticatorOf, rememberedTokens } from './authenticator.js'
import type { KeySource } from './jwks-cache.js'
import { ProviderKeys } from './signature.js'
import { TokenVerifier } from './verifier.js'

interface FixedProvider {
  readonly name: string
  readonly issuer: string
  readonly audience: string
  /** Public keys, as JWKs. */
  readonly keys: readonly JsonObject[]
  /** Identities do not have the token that they were established by. */
  readonly withoutToken?: boolean
}

/** Accepts the tokens of an issuer in this process, whose keys need no request. */
export function openFixedVerifier(
  gateway: Gateway,
  { name, issuer, audience, keys, withoutToken = false }: FixedProvider,
): Authenticator {
  const source: KeySource = {
    version: 0,
    firstFetch: undefined,
    failure: undefined,
    uncertainty: undefined,
    keys: new ProviderKeys(createLocalJWKSet({ keys: [...keys] })),
    ids: keys.flatMap(({ kid }) => (typeof kid === 'string' ? [kid] : [])),
    refetch: () => undefined,
    load: async () => {},
  }
  const policy = { issuer, audience, tolerance: 0, optional: [] }
  return authenticatorOf(
    new TokenVerifier({
      name,
      policy,
      kinds: { requireAccessTokenType: true, acceptIdTokens: false },
      jwks: source,
      introspector: undefined,
      introspectionPolicy: policy,
      introspectionTtl: 0,
      withoutToken,
      hits: rememberedTokens(gateway),
    }),
  )
}
