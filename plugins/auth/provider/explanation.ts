import type { Explanation, Finding } from 'sallyport'
import { digestOf } from 'sallyport/toolkit'
import { claimFindings, issuerFinding, quoted } from './claims.js'
import type { Introspector } from './introspector.js'
import type { KeySource } from './jwks-cache.js'
import { isAllowedAlgorithm, isIdToken, isOtherKind, readJwt, type UnverifiedJwt } from './jwt.js'
import type { TokenVerifier } from './verifier.js'

/** Verifies a token with the code that verifies requests, without its cache, and lists each check. */
export async function explain(token: string, verifier: TokenVerifier): Promise<Explanation> {
  const { jwks, introspector } = verifier.options
  await jwks?.load()
  const jwt = readJwt(token)
  const findings = jwt === undefined ? [NOT_A_JWT] : await jwtFindings(token, jwt, verifier)
  const verdict = await verifier.verify(token, digestOf(token))
  const introspection = introspector === undefined ? [] : [introspectionFinding(introspector)]
  const isOfOtherIssuer = 'rejection' in verdict && verdict.rejection.cause === 'foreign'
  return { verdict, findings: isOfOtherIssuer ? findings : [...findings, ...introspection] }
}

const NOT_A_JWT: Finding = {
  about: 'format',
  holds: false,
  detail: 'not a JWT: only introspection can verify it',
}

async function jwtFindings(
  token: string,
  jwt: UnverifiedJwt,
  verifier: TokenVerifier,
): Promise<readonly Finding[]> {
  const { policy, kinds, jwks } = verifier.options
  const { header, claims } = jwt
  const issuer = issuerFinding(claims, policy)
  // Nothing else is checked for a token of another issuer: its keys are not this provider's.
  if (!issuer.holds && claims['iss'] !== undefined) return [issuer]
  const type = typeFinding(jwt, isOtherKind(jwt, kinds))
  // Without keys, the claims of the introspection response count, and not those of the token.
  if (jwks === undefined) return issuer.holds ? [type, issuer] : [type]
  const local = await verifier.verifyLocally(token, jwt)
  const detail = 'claims' in local ? 'holds' : signatureFailure(local.rejection.cause)
  return [
    type,
    { about: 'alg', holds: isAllowedAlgorithm(header['alg']), detail: quoted(header['alg']) },
    ...keyFindings(header['kid'], jwks),
    { about: 'signature', holds: 'claims' in local, detail },
    ...claimFindings(claims, policy),
  ]
}

const signatureFailure = (cause: string): string =>
  cause === 'unreachable' ? 'cannot be checked without keys' : `does not hold: ${cause}`

function typeFinding({ header: { typ }, claims }: UnverifiedJwt, isOther: boolean): Finding {
  const written = typ === undefined ? 'missing' : quoted(typ)
  const why = isIdToken(claims)
    ? 'its claims are those of an ID token: set `acceptIdTokens` if this provider issues such access tokens'
    : 'its type, or a claim that only another kind of token has, shows that it is not an access token'
  return { about: 'typ', holds: !isOther, detail: isOther ? `${written}: ${why}` : written }
}

function keyFindings(kid: unknown, { ids, failure }: KeySource): readonly Finding[] {
  const listed = ids.length === 0 ? 'none' : ids.map(quoted).join(', ')
  const keys: Finding = {
    about: 'keys',
    holds: failure === undefined,
    detail: failure?.reason ?? `the provider has ${listed}`,
  }
  if (failure !== undefined && ids.length === 0) return [keys]
  if (kid === undefined)
    return [keys, { about: 'kid', holds: true, detail: 'missing: the gateway tries every suitable key' }]
  return [
    keys,
    {
      about: 'kid',
      holds: ids.some((id) => id === kid),
      detail: `${quoted(kid)}, the provider has ${listed}`,
    },
  ]
}

function introspectionFinding({ reason }: Introspector): Finding {
  return {
    about: 'introspection',
    holds: reason === undefined,
    detail: reason ?? 'the provider responds',
  }
}
