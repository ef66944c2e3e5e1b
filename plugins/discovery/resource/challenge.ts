import type { Challenge, Refusal } from 'sallyport'

interface ChallengeOptions {
  readonly realm: string
  readonly scopes: readonly string[]
  readonly requiredScopes: readonly string[]
  readonly unavailableStatus: 401 | 503
}

/** A challenge whose metadata URL is set later. */
export interface MutableChallenge extends Challenge {
  setMetadataUrl(metadataUrl: string): void
}

type Attributes = Readonly<Record<string, string>>

const ERRORS: Readonly<Record<string, string>> = {
  INVALID_REQUEST: 'invalid_request',
  INSUFFICIENT_SCOPE: 'insufficient_scope',
}

/** Makes the Bearer challenge for a refusal (RFC 6750, 3). Most refusals have the same one, so it is cached. */
export function bearerChallenge({
  realm,
  scopes,
  requiredScopes,
  unavailableStatus,
}: ChallengeOptions): MutableChallenge {
  let metadata: Attributes = {}
  const cache = new Map<string, string>()

  const attributesFor = ({ code, message, challenge }: Refusal): Attributes => {
    const requested = challenge.scope?.split(' ').filter(Boolean) ?? []
    // All required scopes at once (RFC 6750, 3): a token with the scopes of this refusal alone would be refused next.
    const needed = [...new Set([...requiredScopes, ...requested])]
    const scope = code === 'INSUFFICIENT_SCOPE' ? needed : requested.length > 0 ? requested : scopes
    return {
      realm,
      ...(!CODES_WITHOUT_ERROR.has(code) && {
        error: ERRORS[code] ?? 'invalid_token',
        error_description: descriptionText(message),
      }),
      ...challenge,
      ...(scope.length > 0 && { scope: scope.join(' ') }),
      ...metadata,
    }
  }

  return {
    unavailableStatus,
    setMetadataUrl(url) {
      metadata = { resource_metadata: url }
      cache.clear()
    },
    header(refusal) {
      // Attributes of a refusal come from a plugin and may have any value, so they are not cached.
      if (Object.keys(refusal.challenge).length > 0 || !CACHED_CODES.has(refusal.code))
        return bearer(attributesFor(refusal))
      const header = cache.get(refusal.code) ?? bearer(attributesFor(refusal))
      cache.set(refusal.code, header)
      return header
    },
  }
}

// No error code for a request without credentials (RFC 6750, 3.1), nor for a token that no provider could verify.
const CODES_WITHOUT_ERROR = new Set(['UNAUTHORIZED', 'AUTHENTICATION_UNAVAILABLE'])
const CACHED_CODES = new Set([...CODES_WITHOUT_ERROR, 'INVALID_TOKEN', 'INVALID_REQUEST'])

const bearer = (attributes: Attributes): string =>
  `Bearer ${Object.entries(attributes)
    .map(([name, value]) => `${name}="${quotable(value)}"`)
    .join(', ')}`

// A line break would end the header, and characters outside ASCII have no meaning in one (RFC 9110, 5.5).
const quotable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')

// RFC 6750, 3 allows neither quotes nor backslashes in a description, not even escaped ones.
const descriptionText = (text: string): string => text.replace(/["\\]/g, "'")
