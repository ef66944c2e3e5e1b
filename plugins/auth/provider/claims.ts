import type { Finding, Identity } from 'sallyport'
import { isJsonObject } from 'sallyport/toolkit'
import type { Claims } from './jwt.js'

/** The requirements on claims, in a verified JWT and in an introspection response alike. */
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

/** One requirement on claims; `detail` says why it holds or does not. */
interface ClaimCheck {
  readonly about: string
  holds(claims: Claims, policy: ClaimPolicy, now: number): boolean
  detail(claims: Claims, policy: ClaimPolicy, now: number): string
}

/** The claim of the first check that does not hold: the cause of a rejection. */
export function firstFault(claims: Claims, policy: ClaimPolicy): string | undefined {
  const now = Date.now() / 1000
  return CHECKS.find((check) => !check.holds(claims, policy, now))?.about
}

export const claimFindings = (claims: Claims, policy: ClaimPolicy): readonly Finding[] => [
  ...CHECKS.map((check) => finding(check, claims, policy)),
  subjectFinding(claims),
]

/** Callers with one subject share their limits, and audits cannot tell them apart. */
function subjectFinding(claims: Claims): Finding {
  const subject = quoted(subjectOf(claims))
  const detail =
    subject === quoted(claims['sub'])
      ? subject
      : `missing: limits and logs name the caller ${subject}, and so all callers that use this client`
  return { about: 'sub', holds: true, detail }
}

export const issuerFinding = (claims: Claims, policy: ClaimPolicy): Finding => finding(ISSUER, claims, policy)

function finding(check: ClaimCheck, claims: Claims, policy: ClaimPolicy): Finding {
  const now = Date.now() / 1000
  const { about } = check
  return { about, holds: check.holds(claims, policy, now), detail: check.detail(claims, policy, now) }
}

const MISSING = 'missing'

const ISSUER: ClaimCheck = {
  about: 'iss',
  holds: ({ iss }, { issuer, optional }) => (iss === undefined ? optional.includes('iss') : iss === issuer),
  detail: ({ iss }, { issuer }) => (iss === undefined ? MISSING : difference(iss, issuer)),
}

const AUDIENCE: ClaimCheck = {
  about: 'aud',
  holds({ aud }, { audience, optional }) {
    if (audience === undefined) return true
    if (aud === undefined) return optional.includes('aud')
    return aud === audience || (Array.isArray(aud) && aud.includes(audience))
  },
  detail({ aud }, { audience }) {
    if (audience === undefined) return 'any audience is accepted'
    return aud === undefined ? MISSING : `${quoted(aud)}, expected ${quoted(audience)}`
  },
}

const EXPIRY: ClaimCheck = {
  about: 'exp',
  holds: ({ exp }, { tolerance, optional }, now) =>
    exp === undefined ? optional.includes('exp') : isTime(exp) && exp - now > -tolerance,
  detail({ exp }, _policy, now) {
    if (exp === undefined) return MISSING
    if (!isTime(exp)) return notATime(exp)
    return exp > now ? `expires in ${span(exp - now)}` : `expired ${span(now - exp)} ago`
  },
}

/** A time that may lie at most `allowance` seconds in the future. */
const timeCheck = (about: 'nbf' | 'iat', allowance: (policy: ClaimPolicy) => number): ClaimCheck => ({
  about,
  holds({ [about]: time }, policy, now) {
    return time === undefined || (isTime(time) && time <= now + allowance(policy))
  },
  detail({ [about]: time }, _policy, now) {
    if (time === undefined) return MISSING
    if (!isTime(time)) return notATime(time)
    return time > now ? `${span(time - now)} ahead` : `${span(now - time)} ago`
  },
})

// A token bound to a key counts as stolen when it is sent without proof of that key. A token bound to a certificate
// (RFC 8705) is proved by the connection, which `isBoundTo` compares. The gateway checks no DPoP proofs (RFC 9449).
const CONFIRMATION: ClaimCheck = {
  about: 'cnf',
  holds: ({ cnf, token_type: type }) =>
    !isDPoP(type) && (cnf === undefined || cnf === null || boundThumbprint(cnf) !== undefined),
  detail({ cnf, token_type: type }) {
    if (isDPoP(type)) return 'a DPoP token: the gateway does not support DPoP proofs'
    if (cnf === undefined || cnf === null) return 'not bound to a key'
    return boundThumbprint(cnf) === undefined
      ? 'bound to a key, but sent without proof of it'
      : 'bound to a client certificate, and accepted only on a connection with that certificate'
  },
}

const CHECKS: readonly ClaimCheck[] = [
  ISSUER,
  AUDIENCE,
  EXPIRY,
  timeCheck('nbf', ({ tolerance }) => tolerance),
  timeCheck('iat', ({ tolerance }) => Math.max(tolerance, IAT_ALLOWANCE)),
  CONFIRMATION,
]

/** By the `token_type` of an introspection response, which may or may not name the key (RFC 9449, 6.2). */
const isDPoP = (type: unknown): boolean => typeof type === 'string' && type.toLowerCase() === 'dpop'

const THUMBPRINT = 'x5t#S256'

/** Every confirmation that a token names has to hold, so a token that names a second one of another kind has none. */
function boundThumbprint(cnf: unknown): string | undefined {
  if (!isJsonObject(cnf) || Object.keys(cnf).length !== 1) return undefined
  const { [THUMBPRINT]: thumbprint } = cnf
  return typeof thumbprint === 'string' && /^[\w-]{43}$/.test(thumbprint) ? thumbprint : undefined
}

export const isBound = ({ claims: { cnf } }: Identity): boolean => cnf !== undefined && cnf !== null

/** Whether the certificate of a connection is the one that the token of an identity is bound to. */
export const isBoundTo = ({ claims: { cnf } }: Identity, thumbprint: string | undefined): boolean =>
  thumbprint !== undefined && thumbprint === boundThumbprint(cnf)

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

const notATime = (value: unknown): string => `${quoted(value)} is not a time`

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

/** Any value of a token, on one short line. */
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
export function identityFrom(claims: Claims, provider: string, token: string | undefined): Identity {
  const { iss, exp } = claims
  const subject = subjectOf(claims)
  const identity: { -readonly [Key in keyof Identity]: Identity[Key] } = {
    provider,
    subject,
    scopes: scopesOf(claims),
    claims,
  }
  if (token !== undefined) identity.token = token
  if (typeof iss === 'string') identity.issuer = iss
  if (isTime(exp)) identity.expiresAt = exp
  return identity
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
