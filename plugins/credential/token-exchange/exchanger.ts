import { ExpiringMap, type Fetch, type HealthState, type Held, type Log, type Measure } from 'sallyport'
import { type NewToken, newTokenIn } from './answer.js'
import { answerTo, ExchangeFailure, type Failure, unanswered } from './failures.js'
import type { ExchangeOptions } from './options.js'
import type { ExchangeRequest } from './request.js'
import type { Subject } from './subject.js'

export interface ExchangerContext {
  readonly id: string
  readonly fetch: Fetch
  readonly request: ExchangeRequest
  /** The actor's token as it is now. */
  readonly actor: () => string | undefined
  readonly log: Log
  readonly outcomes: Measure
}

interface Exchanged {
  readonly held: Held
  /** When it took the place of one that was refused, in milliseconds since the epoch. */
  readonly renewedAt: number | undefined
}

const ROOM = 10_000
// Each waits for an endpoint that may be slow: beyond this many, it would be flooded in our name.
const MOST_AT_ONCE = 256
const SKEW = 30_000
// A token that does not say how long it lasts is asked for again after a minute.
const UNSAID_LIFETIME = 60
const REMEMBERED = { outcome: 'remembered' }
// A target that refuses whatever it gets must not cost an exchange for every request.
const RENEWAL_REST = 10_000
const EXCHANGED = { outcome: 'exchanged' }

/**
 * Exchanges each subject once until its new token ends. What a token is for, its scopes and its types are those of
 * the entry, and each entry has an exchanger of its own: so the subject's hash alone tells two tokens apart.
 */
export class Exchanger {
  private readonly known = new ExpiringMap<Exchanged>(ROOM)
  private readonly flights = new Map<string, Promise<Held>>()
  private actor: string | undefined
  private trouble: string | undefined

  constructor(
    private readonly options: ExchangeOptions,
    private readonly context: ExchangerContext,
  ) {
    this.actor = context.actor()
  }

  /** At once, unless the endpoint has to be asked. */
  exchange(subject: Subject): Held | Promise<Held> {
    return this.heldFor(subject, false)
  }

  /** The target refused what this subject had. What has just taken its place is good for all who were refused. */
  renew(subject: Subject): Held | Promise<Held> {
    return this.heldFor(subject, true)
  }

  health(): HealthState {
    return this.trouble === undefined ? { status: 'ok' } : { status: 'degraded', reason: this.trouble }
  }

  private heldFor(subject: Subject, refused: boolean): Held | Promise<Held> {
    this.watchActor()
    const { digest: key } = subject
    const known = this.known.get(key)
    if (known === undefined || (refused && !isFresh(known))) {
      return this.flights.get(key) ?? this.start(key, subject, refused)
    }
    this.context.outcomes(1, REMEMBERED)
    return known.held
  }

  // The new tokens say who acts. With another actor they are others.
  private watchActor(): void {
    const actor = this.context.actor()
    if (actor === this.actor) return
    this.actor = actor
    this.known.clear()
    this.flights.clear()
  }

  private start(key: string, subject: Subject, refused: boolean): Promise<Held> {
    if (this.flights.size >= MOST_AT_ONCE) return Promise.reject(this.failed(BUSY))
    this.known.delete(key)
    const flight = this.ask(key, subject, refused)
    const land = (): void => {
      if (this.flights.get(key) === flight) this.flights.delete(key)
    }
    this.flights.set(key, flight)
    flight.then(land, land)
    return flight
  }

  private async ask(key: string, subject: Subject, refused: boolean): Promise<Held> {
    const { actor } = this
    // Counted from the question: the answer may have been long on its way.
    const asked = Date.now()
    const { token, lifetime = UNSAID_LIFETIME } = await this.newToken(subject.token)
    const ends = Math.min(asked + lifetime * 1000, (subject.expiresAt ?? Number.POSITIVE_INFINITY) * 1000)
    const held = this.heldFrom(token, ends)
    // Half of a short life is better than no memory at all.
    const until = ends - Math.min(SKEW, (ends - asked) / 2)
    if (until > Date.now() && actor === this.actor) {
      this.known.set(key, { held, renewedAt: refused ? asked : undefined }, until)
    }
    return held
  }

  private async newToken(subject: string): Promise<NewToken> {
    const { fetch, request } = this.context
    try {
      const response = await fetch(this.options.url, request.for(subject)).catch((error: unknown) => {
        throw new ExchangeFailure(unanswered(error))
      })
      const found = await newTokenIn(response, this.options)
      this.context.outcomes(1, EXCHANGED)
      this.recovered()
      return found
    } catch (error) {
      throw error instanceof ExchangeFailure ? this.failed(error.failure) : error
    }
  }

  private heldFrom(token: string, ends: number): Held {
    const { headerName: header, headerForm } = this.options
    // By a function: a `$` in the token means nothing.
    const value = headerForm.replaceAll('{token}', () => token)
    return { header, value, accessToken: token, expiresAt: Math.floor(ends / 1000) }
  }

  private failed(failure: Failure): Error {
    const { id, log, outcomes } = this.context
    const { kind, cause, detail } = failure
    outcomes(1, { outcome: kind })
    if (kind === 'refused') this.recovered()
    else {
      const { origin } = new URL(this.options.url)
      const trouble = `token exchange at ${origin} failed: ${detail}`
      const { audience, resource, scopes } = this.options
      // Every request that fails has a line of its own; this one says what there is to mend.
      if (trouble !== this.trouble) {
        const level = kind === 'misconfigured' ? 'error' : 'warn'
        log[level]({ cause, reason: trouble, audience, resource, scopes }, 'tokens cannot be exchanged')
      }
      this.trouble = trouble
    }
    return answerTo(failure, id)
  }

  private recovered(): void {
    if (this.trouble !== undefined) this.context.log.info('tokens can be exchanged again')
    this.trouble = undefined
  }
}

const isFresh = ({ renewedAt = Number.NEGATIVE_INFINITY }: Exchanged): boolean =>
  Date.now() - renewedAt < RENEWAL_REST

const BUSY: Failure = {
  kind: 'unavailable',
  cause: 'busy',
  detail: `${MOST_AT_ONCE} questions are open already`,
}
