import { ExpiringMap, isPromise, type Measure, type Rejection, type Verdict, within } from 'sallyport'
import { type ClaimPolicy, claimFindings, identityFrom } from './claims.js'
import type { Answer, Introspector } from './introspector.js'
import {
  areOfOtherKind,
  type Claims,
  isAllowedAlgorithm,
  isOtherKind,
  readJwt,
  type UnverifiedJwt,
} from './jwt.js'
import type { KeyRing } from './key-ring.js'
import { type Checked, checkSignature } from './signature.js'

export interface VerifierOptions {
  readonly name: string
  readonly policy: ClaimPolicy
  readonly accessTokensOnly: boolean
  /** Verifies JWTs here, when there are keys. */
  readonly ring: KeyRing | undefined
  /** Asks the provider about what cannot be verified here. */
  readonly introspector: Introspector | undefined
  readonly introspectionPolicy: ClaimPolicy
  /** Milliseconds that an answer of the provider is remembered. */
  readonly introspectionTtl: number
  readonly hits: Measure
}

/** What was found out here: the claims that were signed, or a rejection that the provider's own word may change or not. */
export type Local = { readonly claims: Claims } | { readonly rejection: Rejection; readonly open: boolean }

const LONGEST_MEMORY = 60_000
const NEGATIVE_MEMORY = 5000
const LONGEST_WAIT = 5000

/** Judges the tokens of one provider. What was verified or told is remembered, so most tokens cost a look-up. */
export class TokenVerifier {
  private readonly accepted = new ExpiringMap<Verdict>(5000)
  // In a room of their own: made-up tokens must not drive out the good ones.
  private readonly refused = new ExpiringMap<Verdict>(2000)
  private readonly label: { readonly provider: string }

  constructor(readonly options: VerifierOptions) {
    this.label = { provider: options.name }
  }

  verdict(token: string, hash: string): Verdict | Promise<Verdict> {
    const known = this.accepted.get(hash) ?? this.refused.get(hash)
    if (known === undefined) return this.judge(token, hash)
    this.options.hits(1, this.label)
    return known
  }

  /** Judges a token anew. One of another issuer is answered at once: it costs no network and no wait. */
  judge(token: string, hash: string): Verdict | Promise<Verdict> {
    const jwt = readJwt(token)
    return jwt !== undefined && this.isForeign(jwt) ? FOREIGN : this.decide(token, hash, jwt)
  }

  /** The keys have changed: what was verified with the old ones is to be verified again. */
  forget(): void {
    this.accepted.clear()
    this.refused.clear()
  }

  private isForeign({ claims: { iss } }: UnverifiedJwt): boolean {
    return iss !== undefined && iss !== this.options.policy.issuer
  }

  private async decide(token: string, hash: string, jwt: UnverifiedJwt | undefined): Promise<Verdict> {
    const { ring, introspector, policy } = this.options
    const version = ring?.version
    const local = jwt === undefined ? UNREADABLE : await this.verifyHere(token, jwt)
    if ('claims' in local) {
      const verdict = this.judgeClaims(local.claims, policy, token)
      // Verified with keys that have changed meanwhile: good for this request, and not to be remembered.
      if (version === ring?.version) this.rememberAccepted(hash, verdict, LONGEST_MEMORY)
      return verdict
    }
    if (!local.open || introspector === undefined) return local
    const asked = introspector.ask(token, hash)
    const answer = isPromise(asked) ? await asked : asked
    if ('claims' in answer || !answer.cannotSay) return this.judgeAnswer(answer, { token, hash, jwt })
    // Without an opinion of the provider, what was found out here stands, if anything was.
    const isTelling = local === UNREADABLE || answer.rejection.kind === 'unavailable'
    return isTelling ? { rejection: answer.rejection } : local
  }

  /** By signature only: what the claims say is judged later, and the same for everybody. */
  async verifyHere(token: string, jwt: UnverifiedJwt): Promise<Local> {
    const { ring, accessTokensOnly } = this.options
    const { header, claims } = jwt
    if (isOtherKind(jwt, accessTokensOnly)) return OTHER_KIND
    // No extension is understood here, and one that must be understood is not to be skipped (RFC 7515, 4.1.11).
    if (header['crit'] !== undefined) return definite('format')
    if (ring === undefined) return UNREADABLE
    if (claims['iss'] === undefined) return NO_ISSUER
    if (!isAllowedAlgorithm(header['alg'])) return NO_ALGORITHM

    const checked = await checkWithRing(token, ring)
    if ('claims' in checked) return checked
    if (checked.failed === 'signature' || checked.failed === 'format') return definite(checked.failed)
    const { trouble } = ring
    if (trouble === undefined) return NO_KEY
    const { cause, reason: detail } = trouble
    return { rejection: { kind: 'unavailable', cause, detail }, open: true }
  }

  private judgeAnswer(
    answer: Answer,
    { token, hash, jwt }: { token: string; hash: string; jwt: UnverifiedJwt | undefined },
  ): Verdict {
    const { introspectionPolicy, introspectionTtl } = this.options
    const verdict =
      'claims' in answer
        ? areOfOtherKind(answer.claims)
          ? OTHER_KIND
          : this.judgeClaims(answer.claims, introspectionPolicy, token)
        : // Nobody else knows a JWT that names this issuer.
          {
            rejection:
              jwt === undefined ? answer.rejection : { ...answer.rejection, kind: 'invalid' as const },
          }
    if ('identity' in verdict) this.rememberAccepted(hash, verdict, introspectionTtl)
    else this.refused.set(hash, verdict, Date.now() + Math.min(introspectionTtl, NEGATIVE_MEMORY))
    return verdict
  }

  private judgeClaims(claims: Claims, policy: ClaimPolicy, token: string): Verdict {
    const fault = claimFindings(claims, policy).find(({ holds }) => !holds)
    if (fault !== undefined) return { rejection: { kind: 'invalid', cause: `claim:${fault.about}` } }
    return { identity: identityFrom(claims, this.options.name, token) }
  }

  private rememberAccepted(hash: string, verdict: Verdict, longest: number): void {
    if (!('identity' in verdict)) return
    const { expiresAt = Number.POSITIVE_INFINITY } = verdict.identity
    const now = Date.now()
    const until = Math.min(now + longest, expiresAt * 1000)
    if (until > now) this.accepted.set(hash, verdict, until)
  }
}

async function checkWithRing(token: string, ring: KeyRing): Promise<Checked> {
  if (ring.keys === undefined) await patiently(ring.firstFetch)
  const checked = await check(token, ring)
  if (!('failed' in checked) || checked.failed !== 'no key' || ring.keys === undefined) return checked
  const fetching = ring.refetch()
  if (fetching === undefined) return checked
  await patiently(fetching)
  return check(token, ring)
}

// A fetch may be two, one after the other, and the provider may yet have to be asked about the token.
async function patiently(fetching: Promise<void> | undefined): Promise<void> {
  if (fetching !== undefined) await within(LONGEST_WAIT, fetching, () => new Error('late')).catch(() => {})
}

async function check(token: string, { keys }: KeyRing): Promise<Checked> {
  return keys === undefined ? { failed: 'no key' } : checkSignature(token, keys)
}

const refusal = (kind: Rejection['kind'], cause: string, open: boolean) => ({
  rejection: { kind, cause },
  open,
})
const definite = (cause: string): Local => refusal('invalid', cause, false)

const OTHER_KIND = refusal('invalid', 'type', false)
const FOREIGN: Verdict = { rejection: { kind: 'notMine', cause: 'foreign' } }
const UNREADABLE: Local = refusal('notMine', 'format', true)
const NO_ISSUER: Local = refusal('invalid', 'claim:iss', true)
const NO_ALGORITHM: Local = refusal('invalid', 'algorithm', true)
const NO_KEY: Local = refusal('invalid', 'key', true)
