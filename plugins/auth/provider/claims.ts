import type { Finding, Identity } from 'sallyport'
import { isJsonObject } from 'sallyport/toolkit'
import type { Claims } from './jwt.js'

/** What claims are required to be, in a verified JWT and in an introspection response alike. */
export interface ClaimPolicy {
  readonly issuer: string
  /** `undefined` accepts any audience. */
  readonly audience: string | undefined
  /** Allowed clock difference in seconds. */
  readonly tolerance: number
  /** Claims that may be missing; if present they must be valid all the same. */
  readonly optional: readonly ('iss' | 'aud' | 'exp')[]
}

// In seconds. Clocks may be ahead by this much; a later `iat` is invalid.
const IAT_ALLOWANCE = 60

/** Texts are made for who reads them: for each new token they would cost more than the checks. */
interface ClaimCheck extends Omit<Finding, 'detail'> {
  readonly detail: () => string
}

/** Checks every relevant claim, in order. The first that does not hold is the cause of a rejection. */
export function checkClaims(claims: Claims, policy: ClaimPolicy): readonly ClaimCheck[] {
  const now = Date.now() / 1000
  return [
    checkIssuer(claims['iss'], policy),
    checkAudience(claims['aud'], policy),
    checkExpiry(claims['exp'], policy, now),
    checkTime('nbf', claims['nbf'], now + policy.tolerance, now),
    checkTime('iat', claims['iat'], now + Math.max(policy.tolerance, IAT_ALLOWANCE), now),
    checkConfirmation(claims['cnf']),
  ]
}

export const claimFindings = (claims: Claims, policy: ClaimPolicy): readonly Finding[] =>
  checkClaims(claims, policy).map(toFinding)

export const issuerFinding = (iss: unknown, policy: ClaimPolicy): Finding =>
  toFinding(checkIssuer(iss, policy))

const toFinding = ({ about, holds, detail }: ClaimCheck): Finding => ({ about, holds, detail: detail() })

function checkIssuer(iss: unknown, { issuer, optional }: ClaimPolicy): ClaimCheck {
  if (iss === undefined) return missing('iss', optional.includes('iss'))
  return { about: 'iss', holds: iss === issuer, detail: () => difference(iss, issuer) }
}

function checkAudience(aud: unknown, { audience, optional }: ClaimPolicy): ClaimCheck {
  if (audience === undefined) return { about: 'aud', holds: true, detail: () => 'any audience is accepted' }
  if (aud === undefined) return missing('aud', optional.includes('aud'))
  const holds = aud === audience || (Array.isArray(aud) && aud.includes(audience))
  return { about: 'aud', holds, detail: () => `${quoted(aud)}, expected ${quoted(audience)}` }
}

function checkExpiry(exp: unknown, { tolerance, optional }: ClaimPolicy, now: number): ClaimCheck {
  if (exp === undefined) return missing('exp', optional.includes('exp'))
  if (!isTime(exp)) return { about: 'exp', holds: false, detail: () => `${quoted(exp)} is not a time` }
  const left = exp - now
  const detail = () => (left > 0 ? `expires in ${span(left)}` : `expired ${span(-left)} ago`)
  return { about: 'exp', holds: left > -tolerance, detail }
}

/** A time that must not be later than `latest`. */
function checkTime(about: 'nbf' | 'iat', time: unknown, latest: number, now: number): ClaimCheck {
  if (time === undefined) return missing(about, true)
  if (!isTime(time)) return { about, holds: false, detail: () => `${quoted(time)} is not a time` }
  const detail = () => (time > now ? `${span(time - now)} ahead` : `${span(now - time)} ago`)
  return { about, holds: time <= latest, detail }
}

// A token bound to a key counts as stolen when it is sent without proof of that key. The proof of one that is bound to a
// certificate (RFC 8705) is the connection, which `isBoundTo` compares; DPoP (RFC 9449) has none here.
function checkConfirmation(cnf: unknown): ClaimCheck {
  if (cnf === undefined || cnf === null)
    return { about: 'cnf', holds: true, detail: () => 'not bound to a key' }
  const holds = boundThumbprint(cnf) !== undefined
  return {
    about: 'cnf',
    holds,
    detail: () =>
      holds
        ? 'bound to a client certificate, and accepted only on a connection with that certificate'
        : 'bound to a key, but sent without proof of it',
  }
}

const THUMBPRINT = 'x5t#S256'

/** Every confirmation that a token names has to hold, so one of another kind beside it counts as not held. */
function boundThumbprint(cnf: unknown): string | undefined {
  if (!isJsonObject(cnf) || Object.keys(cnf).length !== 1) return undefined
  const { [THUMBPRINT]: thumbprint } = cnf
  return typeof thumbprint === 'string' && /^[\w-]{43}$/.test(thumbprint) ? thumbprint : undefined
}

export const isBound = ({ claims: { cnf } }: Identity): boolean => cnf !== undefined && cnf !== null

/** Whether the certificate of a connection is the one that the token of an identity is bound to. */
export const isBoundTo = ({ claims: { cnf } }: Identity, thumbprint: string | undefined): boolean =>
  thumbprint !== undefined && thumbprint === boundThumbprint(cnf)

const missing = (about: string, holds: boolean): ClaimCheck => ({ about, holds, detail: () => 'missing' })

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** In a readable unit. */
function span(seconds: number): string {
  const [length, unit] = UNITS.find(([each]) => seconds >= 2 * each) ?? [1, 's']
  return `${Math.round(seconds / length)} ${unit}`
}

const UNITS = [
  [86_400, 'days'],
  [3_600, 'h'],
  [60, 'min'],
] as const

/** A value of the token on one short line, whatever it holds. */
export function quoted(value: unknown): string {
  const text = (JSON.stringify(value) ?? 'undefined').replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return text.length > 300 ? `${text.slice(0, 300)}...` : text
}

function difference(actual: unknown, expected: string): string {
  if (typeof actual !== 'string') return `${quoted(actual)} is not text, expected ${quoted(expected)}`
  if (actual === expected) return quoted(actual)
  let at = 0
  while (actual[at] === expected[at]) at++
  const characterIn = (text: string) => (at < text.length ? quoted(text[at]) : 'its end')
  return `${quoted(actual)}, expected ${quoted(expected)}: they differ at character ${at + 1}, ${characterIn(actual)} against ${characterIn(expected)}`
}

/** The identity of valid claims. */
export function identityFrom(claims: Claims, provider: string, token: string): Identity {
  const { iss, exp } = claims
  return {
    provider,
    subject: subjectOf(claims),
    ...(typeof iss === 'string' && { issuer: iss }),
    scopes: scopesOf(claims),
    claims,
    token,
    ...(isTime(exp) && { expiresAt: exp }),
  }
}

// A token of a client itself may have no `sub`.
function subjectOf({ sub, client_id, azp }: Claims): string {
  return [sub, client_id, azp].find((name): name is string => typeof name === 'string' && name !== '') ?? ''
}

// `scp` is `scope` at Entra and Okta.
function scopesOf({ scope, scp }: Claims): readonly string[] {
  const value = scope ?? scp
  if (Array.isArray(value)) return value.filter((each) => typeof each === 'string')
  return typeof value === 'string' ? value.split(' ').filter(Boolean) : []
}
