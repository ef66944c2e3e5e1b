import { processRevocationResponse, WWWAuthenticateChallengeError } from 'oauth4webapi'

/** What a target says about how to be asked, in all its challenges. */
export interface Challenge {
  /** Whether it speaks of bearer tokens at all. */
  readonly bearer: boolean
  readonly resourceMetadata?: string
  readonly scopes?: readonly string[]
  readonly error?: string
}

export const NO_CHALLENGE: Challenge = { bearer: false }

/** Reads every header by itself, so that one which is malformed takes no other along. */
export async function readChallenges(headers: readonly string[]): Promise<Challenge> {
  const found = (await Promise.all(headers.map(parsed))).flat()
  const bearers = found.filter(({ scheme }) => scheme === 'bearer').map(({ parameters }) => parameters)
  const first = (name: 'resource_metadata' | 'scope' | 'error'): string | undefined =>
    bearers.map((parameters) => parameters[name]).find((value) => value !== undefined)

  const [resourceMetadata, scope, error] = [first('resource_metadata'), first('scope'), first('error')]
  return {
    bearer: bearers.length > 0,
    ...(resourceMetadata !== undefined && { resourceMetadata }),
    ...(scope !== undefined && { scopes: wordsOf(scope) }),
    ...(error !== undefined && { error }),
  }
}

// oauth4webapi shows its parser only in the error for an answer that carries a challenge.
async function parsed(header: string) {
  try {
    await processRevocationResponse(
      new Response(null, { status: 401, headers: { 'www-authenticate': header } }),
    )
  } catch (error) {
    if (error instanceof WWWAuthenticateChallengeError) return error.cause
  }
  return []
}

export const wordsOf = (text: string): string[] => [
  ...new Set(text.split(/\s+/).filter((word) => word !== '')),
]
