import type { Measure, Rejection, Verdict } from 'sallyport'
import { clientThumbprint, ExpiringMap, isPromise, waitAtMost } from 'sallyport/toolkit'
import { type ClaimPolicy, firstFault, identityFrom, isBound, isBoundTo } from './claims.js'
import type { IntrospectionResult, Introspector } from './introspector.js'
import type { KeySource } from './jwks-cache.js'
import {
  type AcceptedKinds,
  areOfOtherKind,
  type Claims,
  isAllowedAlgorithm,
  isOtherKind,
  readJwt,
  type UnverifiedJwt,
} from './jwt.js'
import type { SignatureCheck } from './signature.js'

export interface VerifierOptions {
  readonly name: string
  readonly policy: ClaimPolicy
  readonly kinds: AcceptedKinds
  /** Verifies JWTs locally. */
  readonly jwks: KeySource | undefined
  /** For tokens that cannot be verified locally. */
  readonly introspector: Introspector | undefined
  readonly introspectionPolicy: ClaimPolicy
  /** Milliseconds that an introspection response is cached. */
  readonly introspectionTtl: number
  /** Identities do not have the token that they were established by. */
  readonly withoutToken?: boolean
  readonly hits: Measure
}

/**
 * The result of local verification: the signed claims, or a rejection. Introspection may overrule one that is
 * `introspectable`.
 */
export type LocalResult =
  | { readonly claims: Claims }
  | { readonly rejection: Rejection; readonly introspectable: boolean }

/** The caller: each address has a limit of concurrent introspection requests. */
interface Caller {
  readonly clientAddress: string
  readonly raw: Parameters<typeof clientThumbprint>[0]
}

interface PresentedToken {
  readonly token: string
  readonly hash: string
  readonly jwt: UnverifiedJwt | undefined
  readonly address: string
  /** The version of the keys when the request arrived. */
  readonly keysVersion: number | undefined
}

const MAX_CACHE_TIME = 60_000
const REJECTION_CACHE_TIME = 5000
// Discovery and keys may be two requests, and introspection may follow.
const MAX_WAIT = 5000

/** Verifies the tokens of one provider, and caches the verdicts. */
export class TokenVerifier {
  private readonly accepted = new ExpiringMap<Verdict>(5000)
  // In a map of its own: made-up tokens must not evict valid ones.
  private readonly rejected = new ExpiringMap<Verdict>(2000)
  private readonly label: { readonly provider: string }

  constructor(readonly options: VerifierOptions) {
    this.label = { provider: options.name }
  }

  verdict(token: string, hash: string, request: Caller): Verdict | Promise<Verdict> {
    const cached = this.accepted.get(hash) ?? this.rejected.get(hash)
    if (cached === undefined) {
      const verdict = this.verify(token, hash, request.clientAddress)
      return isPromise(verdict)
        ? verdict.then((late) => withProofOfKey(late, request))
        : withProofOfKey(verdict, request)
    }
    this.options.hits(1, this.label)
    return withProofOfKey(cached, request)
  }

  /**
   * Verifies without the cache, and without a look at the connection. A token of another issuer is rejected at once,
   * without network requests.
   */
  verify(token: string, hash: string, address = ''): Verdict | Promise<Verdict> {
    const jwt = readJwt(token)
    if (jwt !== undefined && this.isOfOtherIssuer(jwt)) return OTHER_ISSUER
    const presented: PresentedToken = { token, hash, jwt, address, keysVersion: this.options.jwks?.version }
    const local = jwt === undefined ? UNVERIFIABLE : this.verifyLocally(token, jwt)
    return isPromise(local)
      ? local.then((late) => this.conclude(late, presented))
      : this.conclude(local, presented)
  }

  /** Called when the keys change: all tokens are verified again. */
  clearCache(): void {
    this.accepted.clear()
    this.rejected.clear()
  }

  private isOfOtherIssuer({ claims: { iss } }: UnverifiedJwt): boolean {
    return iss !== undefined && iss !== this.options.policy.issuer
  }

  private conclude(local: LocalResult, presented: PresentedToken): Verdict | Promise<Verdict> {
    const { jwks, introspector, policy } = this.options
    if ('claims' in local) {
      const verdict = this.verdictOfClaims(local.claims, policy, presented.token)
      // When the keys have changed meanwhile, the verdict holds for this request but is not cached.
      if (presented.keysVersion === jwks?.version) this.cacheAccepted(presented.hash, verdict, MAX_CACHE_TIME)
      return verdict
    }
    if (!local.introspectable || introspector === undefined) return local
    return this.introspect(introspector, local, presented)
  }

  private async introspect(
    introspector: Introspector,
    local: Extract<LocalResult, { rejection: unknown }>,
    presented: PresentedToken,
  ): Promise<Verdict> {
    const result = await introspector.introspect(presented.token, presented.hash, presented.address)
    if ('claims' in result || !result.inconclusive) return this.verdictOfIntrospection(result, presented)
    // When the provider gives no verdict, the local result stands, if there is one.
    const useIntrospection = local === UNVERIFIABLE || NO_RESPONSE.has(result.rejection.kind)
    return useIntrospection ? { rejection: result.rejection } : local
  }

  /** Verifies type, algorithm and signature. Claims are checked afterwards, as those of introspection are. */
  verifyLocally(token: string, jwt: UnverifiedJwt): LocalResult | Promise<LocalResult> {
    const { jwks, kinds } = this.options
    const { header, claims } = jwt
    if (isOtherKind(jwt, kinds)) return OTHER_KIND
    // No extension is supported, and a critical one must not be ignored (RFC 7515, 4.1.11).
    if (header['crit'] !== undefined) return finalRejection('format')
    if (jwks === undefined) return UNVERIFIABLE
    if (claims['iss'] === undefined) return NO_ISSUER
    if (!isAllowedAlgorithm(header['alg'])) return NO_ALGORITHM
    if (jwks.keys?.haveSigned(token, jwt) === true) return { claims }
    return verifyWithKeys(token, jwt, jwks)
  }

  private verdictOfIntrospection(result: IntrospectionResult, { token, hash, jwt }: PresentedToken): Verdict {
    const { introspectionPolicy, introspectionTtl, kinds } = this.options
    const verdict =
      'claims' in result
        ? areOfOtherKind(result.claims, kinds)
          ? OTHER_KIND
          : this.verdictOfClaims(result.claims, introspectionPolicy, token)
        : // No other provider accepts a JWT of this issuer.
          {
            rejection:
              jwt === undefined ? result.rejection : { ...result.rejection, kind: 'invalid' as const },
          }
    if ('identity' in verdict) this.cacheAccepted(hash, verdict, introspectionTtl)
    else this.rejected.set(hash, verdict, Date.now() + Math.min(introspectionTtl, REJECTION_CACHE_TIME))
    return verdict
  }

  private verdictOfClaims(claims: Claims, policy: ClaimPolicy, token: string): Verdict {
    const fault = firstFault(claims, policy)
    if (fault !== undefined) return { rejection: { kind: 'invalid', cause: `claim:${fault}` } }
    const { name, withoutToken } = this.options
    return { identity: identityFrom(claims, name, withoutToken === true ? undefined : token) }
  }

  private cacheAccepted(hash: string, verdict: Verdict, ttl: number): void {
    if (!('identity' in verdict)) return
    const { expiresAt = Number.POSITIVE_INFINITY } = verdict.identity
    const now = Date.now()
    const until = Math.min(now + ttl, expiresAt * 1000)
    if (until > now) this.accepted.set(hash, verdict, until)
  }
}

/**
 * The cache holds the verdict on a token. Each connection must prove again that it has the key the token is bound to.
 */
function withProofOfKey(verdict: Verdict, { raw }: Caller): Verdict {
  if ('rejection' in verdict || !isBound(verdict.identity)) return verdict
  return isBoundTo(verdict.identity, clientThumbprint(raw)) ? verdict : UNCONFIRMED
}

async function verifyWithKeys(token: string, jwt: UnverifiedJwt, jwks: KeySource): Promise<LocalResult> {
  const checked = await checkWithKeys(token, jwt, jwks)
  if ('claims' in checked) return checked
  if (checked.failed === 'signature' || checked.failed === 'format') return finalRejection(checked.failed)
  const { uncertainty } = jwks
  if (uncertainty === undefined) return NO_KEY
  const { cause, reason: detail } = uncertainty
  return { rejection: { kind: 'unavailable', cause, detail }, introspectable: true }
}

async function checkWithKeys(token: string, jwt: UnverifiedJwt, jwks: KeySource): Promise<SignatureCheck> {
  const { firstFetch } = jwks
  if (jwks.keys === undefined && firstFetch !== undefined) await waitAtMost(MAX_WAIT, firstFetch)
  const checked = await check(token, jwt, jwks)
  if (!('failed' in checked) || checked.failed !== 'no key' || jwks.keys === undefined) return checked
  const fetching = jwks.refetch()
  if (fetching === undefined) return checked
  await waitAtMost(MAX_WAIT, fetching)
  return check(token, jwt, jwks)
}

async function check(token: string, jwt: UnverifiedJwt, { keys }: KeySource): Promise<SignatureCheck> {
  return keys === undefined ? { failed: 'no key' } : keys.check(token, jwt)
}

const rejectedWith = (kind: Rejection['kind'], cause: string, introspectable: boolean) => ({
  rejection: { kind, cause },
  introspectable,
})
const finalRejection = (cause: string): LocalResult => rejectedWith('invalid', cause, false)

const NO_RESPONSE: ReadonlySet<Rejection['kind']> = new Set(['unavailable', 'busy'])

const OTHER_KIND = rejectedWith('invalid', 'type', false)
const UNCONFIRMED: Verdict = { rejection: { kind: 'invalid', cause: 'claim:cnf' } }
const OTHER_ISSUER: Verdict = { rejection: { kind: 'notMine', cause: 'foreign' } }
const UNVERIFIABLE: LocalResult = rejectedWith('notMine', 'format', true)
const NO_ISSUER: LocalResult = rejectedWith('invalid', 'claim:iss', true)
const NO_ALGORITHM: LocalResult = rejectedWith('invalid', 'algorithm', true)
const NO_KEY: LocalResult = rejectedWith('invalid', 'key', true)
