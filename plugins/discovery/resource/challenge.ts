import type { Challenge, Refusal } from 'sallyport'

interface Words {
  readonly realm: string
  readonly scopes: readonly string[]
  readonly requiredScopes: readonly string[]
  readonly unavailableStatus: 401 | 503
}

/** A challenge that learns later where the document is. */
export interface PointingChallenge extends Challenge {
  pointTo(metadataUrl: string): void
}

type Attributes = Readonly<Record<string, string>>

const ERRORS: Readonly<Record<string, string>> = {
  INVALID_REQUEST: 'invalid_request',
  INSUFFICIENT_SCOPE: 'insufficient_scope',
}

/** Words every refusal as one Bearer challenge (RFC 6750, 3). What can be is made once: most refusals say the same. */
export function challengeFrom({
  realm,
  scopes,
  requiredScopes,
  unavailableStatus,
}: Words): PointingChallenge {
  let metadata: Attributes = {}
  const made = new Map<string, string>()

  const attributesFor = ({ code, message, challenge }: Refusal): Attributes => {
    const scope = code === 'INSUFFICIENT_SCOPE' ? requiredScopes : scopes
    return {
      realm,
      // Whoever sent no credentials did nothing wrong (RFC 6750, 3.1).
      ...(code !== 'UNAUTHORIZED' && {
        error: ERRORS[code] ?? 'invalid_token',
        error_description: described(message),
      }),
      ...(scope.length > 0 && { scope: scope.join(' ') }),
      ...challenge,
      ...metadata,
    }
  }

  return {
    unavailableStatus,
    pointTo(url) {
      metadata = { resource_metadata: url }
      made.clear()
    },
    header(refusal) {
      // A refusal with words of its own is made anew: they come from a plugin and may be any.
      if (Object.keys(refusal.challenge).length > 0 || !PLAIN.has(refusal.code))
        return bearer(attributesFor(refusal))
      const known = made.get(refusal.code) ?? bearer(attributesFor(refusal))
      made.set(refusal.code, known)
      return known
    },
  }
}

const PLAIN = new Set(['UNAUTHORIZED', 'INVALID_TOKEN', 'INVALID_REQUEST'])

const bearer = (attributes: Attributes): string =>
  `Bearer ${Object.entries(attributes)
    .map(([name, value]) => `${name}="${quotable(value)}"`)
    .join(', ')}`

// A line break would end the header, and what is not ASCII has no meaning in one (RFC 9110, 5.5).
const quotable = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')

// RFC 6750, 3 allows neither quotes nor backslashes in a description, not even escaped ones.
const described = (text: string): string => text.replace(/["\\]/g, "'")
