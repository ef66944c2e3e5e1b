import type { Finding, Identity } from 'sallyport'
import type { Claims } from './jwt.js'

/** What claims must say. The same holds for a verified JWT and for an introspection answer. */
export interface ClaimPolicy {
  readonly issuer: string
  /** Nobody is asked for when missing. */
  readonly audience: string | undefined
  /** Seconds that the clocks may differ. */
  readonly tolerance: number
  /** Claims that may be missing; what is there must hold all the same. */
  readonly optional: readonly ('iss' | 'aud' | 'exp')[]
}

// A clock that is ahead by this much is a clock; more is a token from the future.
const IAT_ALLOWANCE = 60

/** Looks at every claim that decides, in order. The first that does not hold is the reason for a refusal. */
export function claimFindings(
  claims: Claims,
  policy: ClaimPolicy,
  now = Date.now() / 1000,
): readonly Finding[] {
  return [
    issuerFinding(claims['iss'], policy),
    audienceFinding(claims['aud'], policy),
    expiryFinding(claims['exp'], policy, now),
    timeFinding('nbf', claims['nbf'], now + policy.tolerance, now),
    timeFinding('iat', claims['iat'], now + Math.max(policy.tolerance, IAT_ALLOWANCE), now),
    confirmationFinding(claims['cnf']),
  ]
}

export function issuerFinding(iss: unknown, { issuer, optional }: ClaimPolicy): Finding {
  if (iss === undefined) return missing('iss', optional.includes('iss'))
  return { about: 'iss', holds: iss === issuer, detail: difference(iss, issuer) }
}

function audienceFinding(aud: unknown, { audience, optional }: ClaimPolicy): Finding {
  if (audience === undefined) return { about: 'aud', holds: true, detail: 'any audience is accepted' }
  if (aud === undefined) return missing('aud', optional.includes('aud'))
  const holds = aud === audience || (Array.isArray(aud) && aud.includes(audience))
  return { about: 'aud', holds, detail: `${quoted(aud)}, expected ${quoted(audience)}` }
}

function expiryFinding(exp: unknown, { tolerance, optional }: ClaimPolicy, now: number): Finding {
  if (exp === undefined) return missing('exp', optional.includes('exp'))
  if (!isTime(exp)) return { about: 'exp', holds: false, detail: `${quoted(exp)} is not a time` }
  const left = exp - now
  const detail = left > 0 ? `expires in ${span(left)}` : `expired ${span(-left)} ago`
  return { about: 'exp', holds: left > -tolerance, detail }
}

/** A time that must not be later than `latest`. */
function timeFinding(about: 'nbf' | 'iat', time: unknown, latest: number, now: number): Finding {
  if (time === undefined) return missing(about, true)
  if (!isTime(time)) return { about, holds: false, detail: `${quoted(time)} is not a time` }
  const detail = time > now ? `${span(time - now)} ahead` : `${span(now - time)} ago`
  return { about, holds: time <= latest, detail }
}

// A token bound to a key is as good as stolen when it comes without proof of that key (RFC 9449, RFC 8705).
function confirmationFinding(cnf: unknown): Finding {
  const holds = cnf === undefined || cnf === null
  return {
    about: 'cnf',
    holds,
    detail: holds ? 'not bound to a key' : 'bound to a key, and sent without proof of it',
  }
}

const missing = (about: string, holds: boolean): Finding => ({ about, holds, detail: 'missing' })

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

/** In the unit that people would count in. */
function span(seconds: number): string {
  const [length, unit] = UNITS.find(([each]) => seconds >= 2 * each) ?? [1, 's']
  return `${Math.round(seconds / length)} ${unit}`
}

const UNITS = [
  [86_400, 'days'],
  [3_600, 'h'],
  [60, 'min'],
] as const

/** A value of the token, in one short line whatever it holds. */
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
  const at1 = (text: string) => (at < text.length ? quoted(text[at]) : 'its end')
  return `${quoted(actual)}, expected ${quoted(expected)}: they differ at character ${at + 1}, ${at1(actual)} against ${at1(expected)}`
}

/** The identity that claims establish, once they hold. */
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

// A token of a client itself may come without `sub`.
function subjectOf({ sub, client_id, azp }: Claims): string {
  return [sub, client_id, azp].find((name) => typeof name === 'string') ?? ''
}

// `scp` is how Entra and Okta spell `scope`.
function scopesOf({ scope, scp }: Claims): readonly string[] {
  const written = scope ?? scp
  if (Array.isArray(written)) return written.filter((each) => typeof each === 'string')
  return typeof written === 'string' ? written.split(' ').filter(Boolean) : []
}
