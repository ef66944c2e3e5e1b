import {
  type Fetch,
  type HealthState,
  type Log,
  type Measure,
  type Rejection,
  UpstreamError,
} from 'sallyport'
import {
  basicAuthorization,
  ConcurrencyLimit,
  isPromise,
  jsonObject,
  messageOf,
  type Secret,
} from 'sallyport/toolkit'
import type { Claims } from './jwt.js'

export interface IntrospectorOptions {
  readonly provider: string
  readonly url: string
  readonly clientId: string | undefined
  readonly clientSecret: Secret | undefined
  readonly fetch: Fetch
  readonly log: Log
  readonly outcomes: Measure
}

interface NoClaims {
  readonly rejection: Rejection
  /** The provider gave no verdict, so the result of local verification stands. */
  readonly inconclusive: boolean
}

/** The claims of an active token, or why there are none. */
export type IntrospectionResult = { readonly claims: Claims } | NoClaims

const MIN_BACKOFF = 1000
const MAX_BACKOFF = 30_000
// One token alone may cause a failure. The provider counts as down only after this many tokens failed.
const FAILURES_FOR_BACKOFF = 2
const MAX_UNANSWERED = 64

/** Failures after a response: the provider is up. */
const RESPONDED = new Set(['EGRESS_TOO_LARGE', 'EGRESS_MALFORMED', 'EGRESS_REDIRECT'])
/** Failures after the token was sent, or possibly so. */
const AFTER_SENDING = new Set(['EGRESS_RESET', 'EGRESS_TIMEOUT', 'EGRESS_FAILED'])

/** Introspects tokens (RFC 7662): one request for each token at a time, with backoff while the provider is down. */
export class Introspector {
  private readonly inFlight = new Map<string, Promise<IntrospectionResult>>()
  private readonly limit = new ConcurrencyLimit()
  /** The tokens without a response since the last response. */
  private readonly unanswered = new Set<string>()
  private backoffs = 0
  private backoffUntil = 0
  private failureReason: string | undefined

  constructor(private readonly options: IntrospectorOptions) {}

  /** `address` is the caller's: each address has a limit of concurrent requests. */
  introspect(
    token: string,
    hash: string,
    address: string,
  ): IntrospectionResult | Promise<IntrospectionResult> {
    const pending = this.inFlight.get(hash)
    if (pending !== undefined) return pending
    // A provider that is down must not delay the other providers: one request probes it, the others fail at once.
    if (this.isBackingOff(hash)) return withDetail(UNREACHABLE, this.failureReason)
    const admission = this.limit.acquire(address)
    if (admission === undefined) return this.count(BUSY)

    const inFlight = this.whenAdmitted(token, hash, admission).finally(() => this.inFlight.delete(hash))
    this.inFlight.set(hash, inFlight)
    return inFlight
  }

  health(): HealthState {
    if (this.failureReason === undefined) return { status: 'ok' }
    return { status: 'degraded', reason: `${this.options.provider}: ${this.failureReason}` }
  }

  /** Why introspection fails at the moment. */
  get reason(): string | undefined {
    return this.failureReason
  }

  private async whenAdmitted(
    token: string,
    hash: string,
    admission: ReturnType<ConcurrencyLimit['acquire']>,
  ): Promise<IntrospectionResult> {
    const release = isPromise(admission) ? await admission : admission
    if (release === undefined) return this.count(BUSY)
    try {
      // The provider may have gone down while this request was queued.
      if (this.isBackingOff(hash)) return withDetail(UNREACHABLE, this.failureReason)
      if (this.backoffs > 0) this.backoffUntil = Number.POSITIVE_INFINITY
      return await this.request(token, hash)
    } finally {
      release()
    }
  }

  /** Tokens without a response back off for longer, so that one such token does not delay the other tokens. */
  private isBackingOff(hash: string): boolean {
    const extra = this.unanswered.has(hash) ? MIN_BACKOFF : 0
    return this.backoffs > 0 && performance.now() < this.backoffUntil + extra
  }

  private async request(token: string, hash: string): Promise<IntrospectionResult> {
    const { url, fetch } = this.options
    let response: Response
    try {
      response = await fetch(url, { method: 'POST', headers: this.headers(), body: this.form(token) })
    } catch (error) {
      const reason = messageOf(error)
      const code = error instanceof UpstreamError ? error.code : ''
      if (RESPONDED.has(code)) {
        this.recordResponse()
        return this.fail(FAULTY, reason)
      }
      this.recordNoResponse(hash, !AFTER_SENDING.has(code))
      return this.fail(UNREACHABLE, reason)
    }
    this.recordResponse()
    const { status } = response
    const { origin } = new URL(url)
    if (status >= 500 || status === 429)
      return this.fail(FAULTY, `introspection at ${origin} failed: status ${status}`)
    if (status === 200) return this.read(response, origin)

    const { error } = jsonObject(await response.text()) ?? {}
    if (error === 'unsupported_token_type') return this.succeed(UNSUPPORTED)
    const isClientRefused = status === 401 || status === 403 || error === 'invalid_client'
    return this.fail(
      isClientRefused ? CLIENT_REFUSED : REFUSED,
      `introspection at ${origin} was refused: status ${status}; clientId and its secret may be wrong`,
    )
  }

  private async read(response: Response, origin: string): Promise<IntrospectionResult> {
    const isJson = /^application\/json\b/i.test(response.headers.get('content-type') ?? '')
    const claims = isJson ? jsonObject(await response.text()) : undefined
    if (claims === undefined)
      return this.fail(FAULTY, `introspection at ${origin} failed: the response is not a JSON object`)
    // Compared with `true`: the string `"false"` is truthy.
    return this.succeed(claims['active'] === true ? { claims } : INACTIVE)
  }

  /** Any response ends the backoff: a token that makes the provider fail must not block all others. */
  private recordResponse(): void {
    this.unanswered.clear()
    this.backoffs = 0
    this.backoffUntil = 0
  }

  private recordNoResponse(hash: string, isUnreachable: boolean): void {
    const isKnown = this.unanswered.has(hash)
    if (!isUnreachable && this.unanswered.size < MAX_UNANSWERED) this.unanswered.add(hash)
    if (!isUnreachable && this.unanswered.size < FAILURES_FOR_BACKOFF) return
    const now = performance.now()
    const isProbe = this.backoffUntil === Number.POSITIVE_INFINITY
    // A failure of a request that was in flight when the backoff began does not extend the backoff.
    if (!isProbe && this.backoffs > 0 && now < this.backoffUntil) return
    if (this.backoffs === 0) this.backoffs = isUnreachable ? 1 : FAILURES_FOR_BACKOFF
    else if (isUnreachable || !isKnown) this.backoffs++
    const backoff = Math.min(MIN_BACKOFF * 2 ** (this.backoffs - 1), MAX_BACKOFF)
    this.backoffUntil = now + backoff * (0.5 + Math.random() / 2)
  }

  private succeed(result: IntrospectionResult): IntrospectionResult {
    const { provider, log } = this.options
    if (this.failureReason !== undefined) log.info({ provider }, 'introspection works again')
    this.failureReason = undefined
    return this.count(result)
  }

  private fail(result: NoClaims, reason: string): IntrospectionResult {
    const { provider, log } = this.options
    if (reason !== this.failureReason) log.warn({ provider, reason }, 'introspection failed')
    this.failureReason = reason
    return this.count(withDetail(result, reason))
  }

  private count(result: IntrospectionResult): IntrospectionResult {
    const { provider, outcomes } = this.options
    outcomes(1, { provider, outcome: 'claims' in result ? 'active' : result.rejection.cause })
    return result
  }

  private headers(): Record<string, string> {
    const { clientId, clientSecret } = this.options
    const headers = { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' }
    if (clientId === undefined || clientSecret === undefined) return headers
    return { ...headers, authorization: basicAuthorization(clientId, clientSecret.reveal()) }
  }

  private form(token: string): string {
    const { clientId, clientSecret } = this.options
    const form = new URLSearchParams({ token, token_type_hint: 'access_token' })
    if (clientId !== undefined && clientSecret === undefined) form.set('client_id', clientId)
    return form.toString()
  }
}

const noClaims = (kind: Rejection['kind'], cause: string, inconclusive: boolean): NoClaims => ({
  rejection: { kind, cause },
  inconclusive,
})

const withDetail = (result: NoClaims, detail = ''): NoClaims => ({
  ...result,
  rejection: { ...result.rejection, detail },
})

const INACTIVE = noClaims('notMine', 'inactive', false)
const UNSUPPORTED = noClaims('notMine', 'introspection:unsupported', true)
// The refusal is about the gateway's client and not about the token, so the caller should keep its token.
const CLIENT_REFUSED = noClaims('unavailable', 'introspection:refused', true)
const REFUSED = noClaims('invalid', 'introspection:refused', true)
const FAULTY = noClaims('unavailable', 'introspection:failed', true)
const UNREACHABLE = noClaims('unavailable', 'unreachable', true)
const BUSY = noClaims('busy', 'introspection:busy', true)
