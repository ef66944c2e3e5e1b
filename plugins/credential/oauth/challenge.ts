import { processRevocationResponse, WWWAuthenticateChallengeError } from 'oauth4webapi'

/** The content of the `WWW-Authenticate` headers of a target. */
export interface Challenge {
  /** Whether one of them is a Bearer challenge. */
  readonly bearer: boolean
  /** Whether there are challenges, and all of other schemes. */
  readonly foreign: boolean
  readonly resourceMetadata?: string
  readonly scopes?: readonly string[]
  readonly error?: string
}

export const NO_CHALLENGE: Challenge = { bearer: false, foreign: false }

/** Parses each header separately: a malformed one does not hide the others. */
export async function readChallenges(headers: readonly string[]): Promise<Challenge> {
  const found = (await Promise.all(headers.map(parse))).flat()
  const bearers = found.filter(({ scheme }) => scheme === 'bearer').map(({ parameters }) => parameters)
  const first = (name: 'resource_metadata' | 'scope' | 'error'): string | undefined =>
    bearers.map((parameters) => parameters[name]).find((value) => value !== undefined)

  const [resourceMetadata, scope, error] = [first('resource_metadata'), first('scope'), first('error')]
  return {
    bearer: bearers.length > 0,
    foreign: found.length > 0 && bearers.length === 0,
    ...(resourceMetadata !== undefined && { resourceMetadata }),
    ...(scope !== undefined && { scopes: scopesIn(scope) }),
    ...(error !== undefined && { error }),
  }
}

// oauth4webapi exposes its parser only in the error for a response with a challenge.
async function parse(header: string) {
  try {
    await processRevocationResponse(
      new Response(null, { status: 401, headers: { 'www-authenticate': header } }),
    )
  } catch (error) {
    if (error instanceof WWWAuthenticateChallengeError) return error.cause
  }
  return []
}

export const scopesIn = (text: string): string[] => [
  ...new Set(text.split(/\s+/).filter((scope) => scope !== '')),
]
