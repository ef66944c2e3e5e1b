import { digestOf, type Explanation, type Finding } from 'sallyport'
import { claimFindings, issuerFinding, quoted } from './claims.js'
import type { Introspector } from './introspector.js'
import { isAllowedAlgorithm, isOtherKind, readJwt, type UnverifiedJwt } from './jwt.js'
import type { KeyRing } from './key-ring.js'
import type { TokenVerifier } from './verifier.js'

/** Judges a token anew, by the code that judges requests, and tells what was looked at. */
export async function explain(token: string, verifier: TokenVerifier): Promise<Explanation> {
  const { ring, introspector } = verifier.options
  await ring?.load()
  const jwt = readJwt(token)
  const findings = jwt === undefined ? [NOT_A_JWT] : await jwtFindings(token, jwt, verifier)
  const verdict = await verifier.judge(token, digestOf(token))
  const asked = introspector === undefined ? [] : [introspectionFinding(introspector)]
  const isForeign = 'rejection' in verdict && verdict.rejection.cause === 'foreign'
  return { verdict, findings: isForeign ? findings : [...findings, ...asked] }
}

const NOT_A_JWT: Finding = {
  about: 'format',
  holds: false,
  detail: 'not a JWT: only introspection could tell what it is',
}

async function jwtFindings(
  token: string,
  jwt: UnverifiedJwt,
  verifier: TokenVerifier,
): Promise<readonly Finding[]> {
  const { policy, accessTokensOnly, ring } = verifier.options
  const { header, claims } = jwt
  const { alg, typ } = header
  const issuer = issuerFinding(claims['iss'], policy)
  // A token of another issuer is judged by nothing else: its keys are not this provider's.
  if (!issuer.holds && claims['iss'] !== undefined) return [issuer]
  const found = [
    typeFinding(typ, isOtherKind(jwt, accessTokensOnly)),
    { about: 'alg', holds: isAllowedAlgorithm(alg), detail: quoted(alg) },
  ]
  if (ring === undefined) return [...found, ...claimFindings(claims, policy)]
  const local = await verifier.verifyHere(token, jwt)
  const detail = 'claims' in local ? 'holds' : unverified(local.rejection.cause)
  return [
    ...found,
    ...keyFindings(header['kid'], ring),
    { about: 'signature', holds: 'claims' in local, detail },
    ...claimFindings(claims, policy),
  ]
}

const unverified = (cause: string): string =>
  cause === 'unreachable' ? 'cannot be checked without keys' : `does not hold: ${cause}`

function typeFinding(typ: unknown, isOther: boolean): Finding {
  const written = typ === undefined ? 'missing' : quoted(typ)
  const detail = isOther
    ? `${written}: not an access token by its type, or by claims that only an ID token or event has`
    : written
  return { about: 'typ', holds: !isOther, detail }
}

function keyFindings(kid: unknown, { ids, trouble }: KeyRing): readonly Finding[] {
  const listed = ids.length === 0 ? 'none' : ids.map(quoted).join(', ')
  const keys: Finding = {
    about: 'keys',
    holds: trouble === undefined,
    detail: trouble?.reason ?? `the provider has ${listed}`,
  }
  if (trouble !== undefined && ids.length === 0) return [keys]
  if (kid === undefined)
    return [keys, { about: 'kid', holds: true, detail: 'missing: every key that fits is tried' }]
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
    detail: reason ?? 'the provider can be asked',
  }
}
