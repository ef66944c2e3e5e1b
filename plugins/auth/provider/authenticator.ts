import type { Authenticator, Gateway, Measure, Verdict } from 'sallyport'
import { explain } from './explanation.js'
import type { TokenVerifier } from './verifier.js'

export interface ProviderAuthenticator extends Authenticator {
  /** Whose tokens it accepts. */
  readonly issuerUrl: string
}

/** Accepts the tokens that a verifier does. */
export function authenticatorOf(verifier: TokenVerifier): ProviderAuthenticator {
  const { name, policy } = verifier.options
  return {
    provider: name,
    issuerUrl: policy.issuer,
    authenticate(request) {
      const { credentials } = request
      if (credentials.kind === 'none') return MISSING
      if (credentials.kind === 'malformed') return MALFORMED
      return verifier.verdict(credentials.token, credentials.digest, request)
    },
    explain: (token) => explain(token, verifier),
  }
}

const MISSING: Verdict = { rejection: { kind: 'notMine', cause: 'missing' } }
const MALFORMED: Verdict = { rejection: { kind: 'notMine', cause: 'format' } }

/** Counts the tokens whose verdict was in the cache. */
export const rememberedTokens = ({ meter }: Gateway): Measure =>
  meter.counter('remembered_tokens_total', 'Tokens that were in the cache', ['provider'])
