import type { Fetch, HealthState, Log, Measure, OutgoingCredential } from 'sallyport'
import { ConcurrencyLimit, ExpiringMap } from 'sallyport/toolkit'
import { connectionFailure, ExchangeFailure, type Failure, gatewayErrorFor } from './failures.js'
import type { ExchangeOptions } from './options.js'
import type { ExchangeRequest } from './request.js'
import type { Subject } from './subject.js'
import { type NewToken, readTokenResponse } from './token-response.js'

export interface ExchangerContext {
  readonly id: string
  readonly fetch: Fetch
  readonly request: ExchangeRequest
  /** The current token of the actor. */
  readonly actor: () => string | undefined
  readonly log: Log
  readonly outcomes: Measure
}

interface CachedToken {
  readonly credential: OutgoingCredential
  /** When it replaced a refused token, by the monotonic clock. */
  readonly renewedAt: number | undefined
}

const CACHE_SIZE = 10_000
const SKEW = 30_000
// In seconds, for a token without `expires_in`.
const DEFAULT_LIFETIME = 60
const CACHED = { outcome: 'remembered' }
// A target that refuses every token must not cause an exchange for every request.
const RENEWAL_PAUSE = 10_000
const EXCHANGED = { outcome: 'exchanged' }

/**
 * Exchanges each subject token once, until the new token expires. Audience, scopes and types are options, and each
 * plugin entry has its own exchanger: therefore the hash of the subject token, or of the sign-in that holds it, is a
 * sufficient cache key.
 */
export class Exchanger {
  private readonly cached = new ExpiringMap<CachedToken>(CACHE_SIZE)
  private readonly inFlight = new Map<string, Promise<OutgoingCredential>>()
  // The endpoint may be slow, and one caller with many tokens must not block the others.
  private readonly limit = new ConcurrencyLimit()
  private actor: string | undefined
  private failureReason: string | undefined

  constructor(
    private readonly options: ExchangeOptions,
    private readonly context: ExchangerContext,
  ) {
    this.actor = context.actor()
  }

  /** A promise only when the endpoint is called. */
  exchange(subject: Subject): OutgoingCredential | Promise<OutgoingCredential> {
    return this.credentialFor(subject, false)
  }

  /**
   * Called when the target refused the cached token. A token that was renewed a moment ago serves all refused requests.
   */
  renew(subject: Subject): OutgoingCredential | Promise<OutgoingCredential> {
    return this.credentialFor(subject, true)
  }

  health(): HealthState {
    return this.failureReason === undefined
      ? { status: 'ok' }
      : { status: 'degraded', reason: this.failureReason }
  }

  private credentialFor(
    subject: Subject,
    refused: boolean,
  ): OutgoingCredential | Promise<OutgoingCredential> {
    this.clearOnNewActor()
    const { digest: key } = subject
    const cached = this.cached.get(key)
    if (cached === undefined || (refused && !isFresh(cached))) {
      return this.inFlight.get(key) ?? this.start(key, subject, refused)
    }
    this.context.outcomes(1, CACHED)
    return cached.credential
  }

  // The cached tokens name the actor: with another actor they are not valid.
  private clearOnNewActor(): void {
    const actor = this.context.actor()
    if (actor === this.actor) return
    this.actor = actor
    this.cached.clear()
    this.inFlight.clear()
  }

  private start(key: string, subject: Subject, refused: boolean): Promise<OutgoingCredential> {
    this.cached.delete(key)
    const exchange = this.whenAdmitted(key, subject, refused)
    const remove = (): void => {
      if (this.inFlight.get(key) === exchange) this.inFlight.delete(key)
    }
    this.inFlight.set(key, exchange)
    exchange.then(remove, remove)
    return exchange
  }

  private async whenAdmitted(key: string, subject: Subject, refused: boolean): Promise<OutgoingCredential> {
    const { provider = '', subject: name = '' } = subject.caller ?? {}
    const release = await this.limit.acquire(JSON.stringify([provider, name]))
    if (release === undefined) throw this.fail(BUSY)
    try {
      return await this.exchangeAndCache(key, subject, refused)
    } finally {
      release()
    }
  }

  private async exchangeAndCache(
    key: string,
    subject: Subject,
    refused: boolean,
  ): Promise<OutgoingCredential> {
    const { actor } = this
    // The lifetime counts from the request: the response may have taken long.
    const startedAt = performance.now()
    const { token, lifetime = DEFAULT_LIFETIME } = await this.requestToken(subject.token)
    const sentAt = Date.now() - (performance.now() - startedAt)
    const expiresAt = Math.min(
      sentAt + lifetime * 1000,
      (subject.expiresAt ?? Number.POSITIVE_INFINITY) * 1000,
    )
    const credential = this.credentialOf(token, expiresAt)
    // A token with a short lifetime is cached for half of it, instead of not at all.
    const until = expiresAt - Math.min(SKEW, (expiresAt - sentAt) / 2)
    if (until > Date.now() && actor === this.actor) {
      this.cached.set(key, { credential, renewedAt: refused ? startedAt : undefined }, until)
    }
    return credential
  }

  private async requestToken(subject: string): Promise<NewToken> {
    const { fetch, request } = this.context
    try {
      const response = await fetch(this.options.url, request.for(subject)).catch((error: unknown) => {
        throw new ExchangeFailure(connectionFailure(error))
      })
      const newToken = await readTokenResponse(response, this.options)
      this.context.outcomes(1, EXCHANGED)
      this.recover()
      return newToken
    } catch (error) {
      throw error instanceof ExchangeFailure ? this.fail(error.failure) : error
    }
  }

  private credentialOf(token: string, expiresAt: number): OutgoingCredential {
    const { headerName: header, headerForm } = this.options
    // By a function: a `$` in the token has no meaning.
    const value = headerForm.replaceAll('{token}', () => token)
    return { header, value, accessToken: token, expiresAt: Math.floor(expiresAt / 1000) }
  }

  private fail(failure: Failure): Error {
    const { id, log, outcomes } = this.context
    const { kind, cause, detail } = failure
    outcomes(1, { outcome: kind })
    if (kind === 'refused') this.recover()
    else {
      const { origin } = new URL(this.options.url)
      const failureReason = `token exchange at ${origin} failed: ${detail}`
      const { audience, resource, scopes } = this.options
      // The log has a line for each failed request; this line says once which options to correct.
      if (failureReason !== this.failureReason) {
        const level = kind === 'misconfigured' ? 'error' : 'warn'
        log[level]({ cause, reason: failureReason, audience, resource, scopes }, 'tokens cannot be exchanged')
      }
      this.failureReason = failureReason
    }
    return gatewayErrorFor(failure, id)
  }

  private recover(): void {
    if (this.failureReason !== undefined) this.context.log.info('tokens can be exchanged again')
    this.failureReason = undefined
  }
}

const isFresh = ({ renewedAt = Number.NEGATIVE_INFINITY }: CachedToken): boolean =>
  performance.now() - renewedAt < RENEWAL_PAUSE

const BUSY: Failure = {
  kind: 'unavailable',
  cause: 'busy',
  detail: 'too many exchanges are in progress already',
}
