import type { Duplex } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Held, isPromise, isUpgrade, type TargetRefusal, UpstreamError } from 'sallyport'
import { AnswerWriter } from './answer-writer.js'
import type { Body } from './body.js'
import { targetFailure } from './failures.js'
import { allValues, type FlatHeaders, firstValue } from './headers.js'
import type { House } from './house.js'
import type { Head, Lane, Receiver, Trip } from './lane.js'
import { sameOriginPath } from './redirect.js'
import { joinSockets } from './tunnel.js'

const RENEWALS = 3
const REDIRECTS = 5

/** What of a request goes to the target beside its head. */
export interface Parcel {
  readonly path: string
  readonly body: Buffer | Body | undefined
  readonly lane: Lane
}

/** One request and its answer: the fold of credentials, the trip to the target, and another one where that helps. */
export class Exchange implements Receiver {
  private held: Held | undefined
  private trip: Trip | undefined
  private writer: AnswerWriter | undefined
  private refusals = 0
  private redirects = 0
  private over = false

  constructor(
    private readonly house: House,
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
    private parcel: Parcel,
    private readonly done: (error: Error) => void,
  ) {
    // A caller that leaves takes its request along.
    reply.raw.on('close', () => this.cancel())
  }

  start(): void {
    try {
      const held = this.house.credentials.hold(this.request)
      if (isPromise(held)) held.then((late) => this.depart(late), this.stop)
      else this.depart(held)
    } catch (error) {
      this.stop(error)
    }
  }

  /** Ends it with an error of ours, if the caller has heard nothing yet. */
  readonly stop = (error: unknown): void => {
    if (this.over) return
    this.cancel()
    if (this.reply.raw.headersSent) this.reply.raw.destroy()
    else this.done(error instanceof Error ? error : targetFailure(error))
  }

  head(head: Head, trip: Trip): boolean {
    if (this.mayRenew && (head.status === 401 || head.status === 403)) {
      void this.refused(head, trip)
      return false
    }
    if (this.held !== undefined && REDIRECTING.has(head.status)) {
      trip.abort()
      this.redirect(head)
      return true
    }
    this.answer(head, trip)
    return true
  }

  data(chunk: Buffer): boolean {
    this.house.spent.add(chunk)
    return this.over || (this.writer?.data(chunk) ?? true)
  }

  end(trailers: readonly string[]): void {
    if (this.over) return
    try {
      this.writer?.end(trailers)
      this.over = true
    } catch (error) {
      this.failed(error)
    }
  }

  failed(error: unknown): void {
    const failure = targetFailure(error)
    if (!this.over) this.house.count(failure.code.toLowerCase(), this.request)
    this.stop(failure)
  }

  trailers(): FlatHeaders {
    return this.house.trailersFor(this.request, this.held)
  }

  proceed(): void {
    const { headers, httpVersionMinor } = this.request.raw
    // To a caller that did not ask it would look like the answer.
    const asked = headers.expect !== undefined && httpVersionMinor > 0
    if (asked && !this.over && !this.reply.raw.headersSent) this.reply.raw.writeContinue()
  }

  upgraded(head: Head, socket: Duplex, early: Buffer): void {
    if (this.over) {
      socket.destroy()
      return
    }
    this.over = true
    this.house.count('upgraded', this.request)
    joinSockets(this.reply, head, socket, early)
  }

  /** Also without a credential: one may wait to be asked for by the target. */
  private get mayRenew(): boolean {
    return this.held !== undefined || this.house.credentials.renewable
  }

  private depart(held: Held | undefined): void {
    if (this.over) return
    this.held = held
    try {
      this.send()
    } catch (error) {
      // What complains here has read the request, and quotes what it dislikes.
      this.stop(error instanceof UpstreamError ? error : targetFailure(undefined))
    }
  }

  private send(): void {
    const { house, request, reply, held } = this
    const { path, body, lane } = this.parcel
    const headers = house.headersFor(request, held)
    const upgrade = isUpgrade(request.raw)
    const patience = house.patienceFor(request)
    this.trip = lane.send({ method: request.method, path, headers, body, patience, upgrade, reply }, this)
  }

  private answer(head: Head, trip: Trip): void {
    if (this.over) return
    try {
      this.house.count(`${Math.floor(head.status / 100)}xx`, this.request)
      this.writer = new AnswerWriter(this.reply)
      // A challenge to our credential is not the caller's to answer.
      this.writer.begin(head, trip, this.held === undefined ? undefined : 'www-authenticate')
    } catch (error) {
      this.failed(error)
    }
  }

  private async refused(head: Head, trip: Trip): Promise<void> {
    try {
      const status = head.status === 401 ? 401 : 403
      const challenges = allValues(head.headers, 'www-authenticate')
      const refusal: TargetRefusal = { status, challenges, attempt: ++this.refusals }
      const again = this.refusals <= RENEWALS && (await this.house.credentials.renew(this.request, refusal))
      if (this.over) return
      if (again) {
        trip.abort()
        this.once()
        this.start()
      } else if (status === 403 || this.held === undefined) {
        this.answer(head, trip)
        trip.resume()
      } else {
        trip.abort()
        throw new UpstreamError(
          'CREDENTIAL_REFUSED',
          'the target does not accept the credential of this gateway',
        )
      }
    } catch (error) {
      this.stop(error)
    }
  }

  private redirect({ status, headers }: Head): void {
    try {
      const to = sameOriginPath(this.house.target, this.parcel.path, firstValue(headers, 'location'))
      if (to === undefined || ++this.redirects > REDIRECTS) throw strayRedirect(status)
      this.once()
      this.parcel = { ...this.parcel, path: to }
      this.depart(this.held)
    } catch (error) {
      this.stop(error)
    }
  }

  /** A stream has flowed away by the time it would be needed again. */
  private once(): void {
    const { body } = this.parcel
    if (body === undefined || Buffer.isBuffer(body)) return
    throw new UpstreamError('BODY_NOT_REPEATABLE', 'the body was too large to be kept and sent again', {
      statusCode: 503,
      retryAfter: 1,
    })
  }

  private cancel(): void {
    if (this.over) return
    this.over = true
    this.trip?.abort()
  }
}

const REDIRECTING = new Set([301, 302, 303, 307, 308])

const strayRedirect = (status: number): UpstreamError =>
  new UpstreamError('TARGET_REDIRECT', `the target redirects (${status}) to where its credential must not go`)
