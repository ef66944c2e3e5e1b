import { setTimeout as pause } from 'node:timers/promises'
import { type Addresses, GatewayError, type HealthState, type Log } from 'sallyport'
import type { Death, Hand } from './hand.js'
import { Handover } from './handover.js'
import { errorOf, type Orders, type OwnAnswer, type Question, type ToPrimary } from './messages.js'
import { OwnMeter } from './own-meter.js'
import { Place } from './place.js'
import { watchPulse } from './pulse.js'
import { isExposition, Questions } from './questions.js'
import { Tally } from './tally.js'

// At the end a worker that takes its time does not take it from the next: in all they wait so long for each other.
const IN_TURN = 1_000
// A drain, and then the last steps of every plugin.
const LONGEST_END = 25_000

/** The worker processes. It keeps so many of them alive, under the orders in force. */
export class Crew {
  /** All are ready for the first time. Fails when they never will be. */
  readonly ready: Promise<Addresses>
  /** Fails when there is no sense in going on. */
  readonly lost: Promise<never>
  private readonly places: readonly Place[]
  private readonly tally = new Tally()
  private readonly meter = new OwnMeter()
  private readonly restarts = restartsIn(this.meter)
  private readonly questions = new Questions(this, this.tally, () => this.meter.text())
  private readonly ending = new AbortController()
  private addresses: Addresses | undefined
  private readonly stopPulse: () => void
  private complete = false
  private arrive: (addresses: Addresses) => void = () => {}
  private fail: (error: Error) => void = () => {}

  constructor(
    count: number,
    private orders: Orders,
    private readonly log: Log,
  ) {
    const handover = new Handover()
    this.places = Array.from({ length: count }, (_, index) => new Place(index + 1, handover))
    this.lost = new Promise((_, fail) => {
      this.fail = fail
    })
    this.ready = Promise.race([
      this.lost,
      new Promise<Addresses>((arrive) => {
        this.arrive = arrive
      }),
    ])
    this.stopPulse = watchPulse(() => this.hands, log)
    // Not everybody waits for them up to their end.
    for (const promise of [this.ready, this.lost]) promise.catch(() => {})
  }

  start(): void {
    for (const place of this.places) this.fill(place)
  }

  get hands(): readonly Hand[] {
    return this.places.flatMap(({ hand }) => hand ?? [])
  }

  get health(): HealthState {
    const up = this.up.length
    if (this.ending.signal.aborted) return { status: 'down', reason: 'stopping' }
    if (!this.complete) return { status: 'down', reason: 'starting' }
    if (up === this.places.length) return { status: 'ok' }
    return { status: up === 0 ? 'down' : 'degraded', reason: `${up} of ${this.places.length} take requests` }
  }

  /** Gives all workers another list, one after the other. What the first of them cannot take changes nothing. */
  async swap(orders: Orders): Promise<void> {
    const [first] = this.up
    // With none that is ready, the first that will be says where they are.
    this.addresses = await first?.swap(orders, false)
    this.orders = orders
    // One that has come up meanwhile was given the list before.
    for (let hand = this.outdated(); hand !== undefined; hand = this.outdated()) await this.renew(hand)
  }

  /** Ends one worker after the other, so that the port is served as long as anybody can. */
  async stop(): Promise<void> {
    this.ending.abort()
    const { hands } = this
    for (const hand of hands) {
      hand.leave()
      await Promise.race([hand.gone, pause(IN_TURN / hands.length)])
    }
    const late = setTimeout(() => {
      this.log.error('what has not ended by now is killed')
      this.kill()
    }, LONGEST_END)
    await Promise.all(hands.map(({ gone }) => gone))
    clearTimeout(late)
    this.stopPulse()
  }

  /** Ends them in the middle of whatever they do. */
  kill(): void {
    for (const hand of this.hands) hand.kill()
  }

  get up(): readonly Hand[] {
    return this.hands.filter(({ stage }) => stage === 'ready')
  }

  private outdated(): Hand | undefined {
    return this.up.find(({ orders }) => orders !== this.orders)
  }

  private async renew(hand: Hand): Promise<void> {
    try {
      await hand.swap(this.orders, true)
    } catch (error) {
      this.log.warn(
        { worker: hand.number, err: error },
        'a worker could not exchange its list; it is replaced',
      )
      if (hand.stage === 'ready') hand.leave()
    }
  }

  private fill(place: Place): void {
    const hand = place.fill((from, message) => this.hear(place, from, message))
    void hand.gone.then((death) => this.bury(place, hand, death))
  }

  private hear(place: Place, hand: Hand, message: ToPrimary): void {
    switch (message.kind) {
      case 'here':
        // What is told at every start is told by one of those that start together.
        hand.boot(this.orders, !this.complete && place.number > 1)
        return
      case 'started':
        hand.stage = 'started'
        this.openDoors()
        return
      case 'ready':
        this.welcome(place, hand, message.addresses)
        return
      case 'question':
        void this.answer(hand, message)
        return
      case 'farewell':
        this.remember(hand, message.answer)
        return
      case 'alive':
        return
      case 'answer':
      case 'swapped':
      case 'failed':
        hand.hear(message)
    }
  }

  /** Together at first: until all have come so far, a mistake ends the start before anything was served. */
  private openDoors(): void {
    if (!this.complete && this.hands.some(({ stage }) => stage === 'starting')) return
    for (const hand of this.hands) if (hand.stage === 'started') hand.open()
  }

  private welcome(place: Place, hand: Hand, addresses: Addresses): void {
    hand.stage = 'ready'
    place.ready()
    this.log.info({ worker: hand.number, pid: hand.pid }, 'a worker is ready')
    if (hand.orders !== this.orders) {
      void this.renew(hand)
      return
    }
    this.addresses ??= addresses
    if (addresses.main !== this.addresses.main || addresses.internal !== this.addresses.internal) {
      // Nobody held the port any more, and nobody knows the new one.
      const message = 'all workers died, and the free port that was told before cannot be had again'
      this.fail(new GatewayError('WORKERS_FAILED', message))
    }
    if (this.complete || this.up.length < this.places.length) return
    this.complete = true
    this.arrive(addresses)
  }

  private bury(place: Place, hand: Hand, { code, signal }: Death): void {
    const { stage, number, failure } = hand
    this.tally.forget(hand.id)
    if (this.ending.signal.aborted) return
    if (stage === 'leaving') {
      place.leave()
      this.fill(place)
      return
    }
    const wait = place.empty(stage === 'ready')
    const err = failure === undefined ? undefined : errorOf(failure)
    const hopeless = this.hopeless(place, err, signal ?? `code ${code}`)
    if (hopeless !== undefined) {
      this.fail(hopeless)
      return
    }
    this.log.error(
      { worker: number, pid: hand.pid, code, signal, err, wait },
      'a worker died; it is started again',
    )
    this.openDoors()
    pause(wait, undefined, { signal: this.ending.signal }).then(
      () => {
        this.restarts(1)
        this.fill(place)
      },
      () => {},
    )
  }

  private hopeless({ number, hopeless }: Place, err: Error | undefined, end: string): Error | undefined {
    // What it could tell of before anything was served is there at the next try too.
    if (!this.complete && err !== undefined) return err
    if (hopeless === undefined || (this.complete && this.up.length > 0)) return undefined
    const message = `worker ${number} ${hopeless} (${end})`
    return new GatewayError('WORKERS_FAILED', message, { cause: err })
  }

  private async answer(hand: Hand, { id, question }: { readonly id: number; readonly question: Question }) {
    hand.reply(id, await this.questions.answer(question))
  }

  private remember(hand: Hand, answer: OwnAnswer): void {
    if (isExposition(answer)) this.tally.take({ process: hand.id, boot: answer.boot, text: answer.body })
  }
}

const restartsIn = (meter: OwnMeter) =>
  meter.counter('worker_restarts_total', 'Workers that died and were started again')
