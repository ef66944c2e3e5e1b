import { setTimeout } from 'node:timers/promises'
import type { Log } from 'sallyport'
import { Backlog } from './backlog.js'
import { Call } from './call.js'
import { type Carrier, type Desk, unavailable } from './carrier.js'
import { Memory } from './memory.js'
import { cancelledBy, type Message } from './messages.js'
import { Older } from './older.js'
import { OpenCalls } from './open-calls.js'
import type { Outlet } from './outlet.js'
import { Streamable } from './streamable.js'
import type { Wire } from './wire.js'

// Time for the target to take a message before the next one may overtake it.
const ORDER_PATIENCE = 2_000
// Bytes of requests that a target is too slow to take.
const BACKLOG = 16 * 1024 * 1024
const GOODBYE_LIMIT = 1_000
// Messages without an answer that a target is too slow to take. Holding them back would hold back what cancels.
const MOST_TELLING = 1_000

const ENDED = unavailable('the session with the target has ended: start this server again')

export interface Surroundings {
  readonly wire: Wire
  readonly target: URL
  readonly outlet: Outlet
  readonly log: Log
  readonly most: number
  /** The most requests that are open at a time. */
  readonly maxOpen: number
}

/** One client and one target: which requests are open, and by which transport they go. */
export class Conversation {
  private readonly calls = new Map<string, Call>()
  private readonly work = new Set<Promise<void>>()
  private readonly memory = new Memory()
  private readonly backlog = new Backlog(BACKLOG)
  private readonly open: OpenCalls
  private telling = 0
  private readonly swallowed = new Map<string, (answer: Message | undefined) => void>()
  private readonly ending = new AbortController()
  private readonly desk: Desk
  private carrier: Carrier
  private renewing: Promise<boolean> | undefined
  /** The client would have to begin again, and does not know it. */
  private isOver = false

  constructor(private readonly around: Surroundings) {
    const { log, most, wire, target, maxOpen } = around
    this.open = new OpenCalls({ requests: maxOpen, bytes: most })
    this.desk = {
      log,
      most,
      ending: this.ending.signal,
      receive: (message) => this.receive(message),
      fail: (call, error) => this.fail(call, error),
      ask: (request) => this.ask(request),
      renew: (lost) => this.renew(lost),
      fallBack: (call) => this.fallBack(call),
    }
    this.carrier = new Streamable(wire, target.pathname, this.desk)
  }

  /** Returns when the next message may be sent. */
  async send(message: Message): Promise<void> {
    await this.renewing
    const cancelled = this.calls.get(cancelledBy(message) ?? '')
    if (this.giveUp(message)) return
    const call = new Call(message)
    if (!this.hasRoom(call)) {
      release(cancelled)
      await this.fail(call, unavailable('too much is open already: ask again when some of it is answered'))
      return
    }
    this.memory.note(message)
    if (call.method === 'initialize') this.isOver = false
    if (this.isOver) {
      await this.fail(call, ENDED)
      return
    }
    for (const id of message.asks) this.calls.set(id, call)
    const delivery = this.carrier.deliver(call)
    this.track(call, delivery.done)
    void delivery.flushed.then(() => call.hasLeft())
    if (call.method === 'initialize') await delivery.done
    else if (message.asks.length > 0)
      await this.backlog.leave(delivery.flushed, message.bytes.length, ORDER_PATIENCE)
    else await Promise.race([delivery.taken, setTimeout(ORDER_PATIENCE, undefined, { ref: false })])
    release(cancelled)
  }

  /** Lets what is open come to its end, for `limit` milliseconds; then ends it all and says goodbye. */
  async finish(limit: number): Promise<void> {
    await Promise.race([
      this.idle(),
      setTimeout(limit, undefined, { signal: this.ending.signal }).catch(() => {}),
    ])
    this.ending.abort(new Error('the conversation has ended'))
    await Promise.all(this.work)
    await this.carrier.close(AbortSignal.timeout(GOODBYE_LIMIT)).catch(() => {})
  }

  private hasRoom(call: Call): boolean {
    return call.unanswered.length > 0 ? this.open.take(call) : this.telling < MOST_TELLING
  }

  private async idle(): Promise<void> {
    while (this.work.size > 0) await Promise.all(this.work)
  }

  private track(call: Call, done: Promise<void>): void {
    const tells = call.message.asks.length === 0 ? 1 : 0
    this.telling += tells
    const work = done.finally(() => {
      this.work.delete(work)
      this.telling -= tells
      for (const id of call.message.asks) if (this.calls.get(id) === call) this.calls.delete(id)
    })
    this.work.add(work)
  }

  /**
   * The client no longer waits for a request. Since 2026-07-28 closing its stream is how HTTP says so. One that has
   * not left as a whole was never asked, unless others of its batch are still wanted.
   */
  private giveUp(message: Message): boolean {
    const id = cancelledBy(message)
    const call = id === undefined ? undefined : this.calls.get(id)
    if (id === undefined || call === undefined) return false
    this.calls.delete(id)
    const ends = call.isStateless || (!call.left && call.unanswered.length === 1)
    if (ends) call.abandon()
    else call.answered(id)
    return ends
  }

  private async receive(message: Message): Promise<void> {
    const { answers } = message
    const [only] = answers
    const swallow = only === undefined ? undefined : this.swallowed.get(only)
    for (const id of answers) this.calls.get(id)?.answered(id)
    if (swallow !== undefined) {
      swallow(message)
      return
    }
    if (this.memory.answersInitialize(message)) this.memory.agree(message)
    await this.around.outlet.line(message.bytes)
  }

  private async fail(call: Call, error: { readonly code: number; readonly message: string }): Promise<void> {
    const { unanswered } = call
    for (const id of unanswered) call.answered(id)
    if (call.isOurs) for (const id of call.message.asks) this.swallowed.get(id)?.(undefined)
    else if (this.ending.signal.aborted) return
    else if (unanswered.length === 0) {
      this.around.log.warn(
        { problem: error.message },
        'the target did not take a message that wants no answer',
      )
    } else for (const id of unanswered) await this.around.outlet.error(id, error)
  }

  private async fallBack(call: Call): Promise<boolean> {
    const { wire, target, log } = this.around
    const older = new Older(wire, target, this.desk)
    if (!(await older.opens())) return false
    log.info('the target speaks the transport of 2024-11-05')
    this.carrier = older
    await older.deliver(call).done
    return true
  }

  private renew(lost: object): Promise<boolean> {
    if (this.renewing === undefined && this.carrier.session !== lost) return Promise.resolve(!this.isOver)
    this.renewing ??= this.replay().finally(() => {
      this.renewing = undefined
    })
    return this.renewing
  }

  /** Tells a new session what the old one had been told. The client notices nothing, so all of it has to hold. */
  private async replay(): Promise<boolean> {
    const { log } = this.around
    for (const message of this.memory.messages) {
      const answer = await this.ask(message)
      const isFirst = message.single['method'] === 'initialize'
      const holds = answer === undefined ? message.asks.length === 0 : answer.single['error'] === undefined
      if (holds && (!isFirst || (answer !== undefined && this.memory.isAgain(answer)))) continue
      log.error('the session with the target has ended, and another one would not be the same')
      this.isOver = true
      return false
    }
    if (this.memory.messages.length === 0) return false
    log.info('the session with the target had ended; a new one took its place')
    return true
  }

  /** Sends a message that the client did not, or not now, and keeps the answer from it. */
  private async ask(message: Message): Promise<Message | undefined> {
    const call = new Call(message, true)
    const [id] = message.asks
    let answer: Message | undefined
    if (id !== undefined) {
      this.calls.set(id, call)
      this.swallowed.set(id, (given) => {
        answer = given
      })
    }
    const { done } = this.carrier.deliver(call)
    this.track(call, done)
    await done
    if (id !== undefined) this.swallowed.delete(id)
    return answer
  }
}

/** A target that was told of the cancelling need not answer, and what is open to it costs memory. */
function release(cancelled: Call | undefined): void {
  if (cancelled?.unanswered.length === 0) cancelled.abandon()
}
