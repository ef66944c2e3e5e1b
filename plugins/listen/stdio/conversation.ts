import { setTimeout } from 'node:timers/promises'
import type { Log } from 'sallyport'
import { waitAtMost } from 'sallyport/toolkit'
import { Call } from './call.js'
import type { HttpLink } from './http-link.js'
import { LegacySse } from './legacy-sse.js'
import { cancelledId, type Message } from './messages.js'
import { SessionState } from './session-state.js'
import type { Stdout } from './stdout.js'
import { StreamableHttp } from './streamable.js'
import { SESSION_ENDED, type Transport, type TransportContext, unavailable } from './transport.js'

// Milliseconds for the target to accept a message before the next one may overtake it.
const ORDER_TIMEOUT = 2_000
// The most bytes of requests that wait for a slow target.
const MAX_BACKLOG = 16 * 1024 * 1024
const CLOSE_LIMIT = 1_000
// The most notifications and responses that wait for a slow target. They do not block the client, whose cancellations
// would be late.
const MAX_NOTIFICATIONS = 1_000

export interface ConversationOptions {
  readonly link: HttpLink
  readonly target: URL
  readonly output: Stdout
  readonly log: Log
  readonly maxMessage: number
  /** The most requests that are open at a time. */
  readonly maxOpen: number
}

/** The messages between one client and one target: the open requests, and the transport that sends them. */
export class Conversation {
  private readonly calls = new Map<string, Call>()
  private readonly work = new Set<Promise<void>>()
  private readonly sessionState = new SessionState()
  private readonly backlog = new Backlog(MAX_BACKLOG)
  private readonly open: OpenCalls
  private notifications = 0
  private readonly internalRequests = new Map<string, (response: Message | undefined) => void>()
  private readonly ending = new AbortController()
  private readonly context: TransportContext
  private transport: Transport
  private renewing: Promise<boolean> | undefined
  private initializing: Promise<void> | undefined
  private closing: Promise<void> | undefined
  /** The session has ended without a new one. For now: the next message tries again. For good: until `initialize`. */
  private sessionLost: 'for now' | 'for good' | undefined

  constructor(private readonly options: ConversationOptions) {
    const { log, maxMessage, link, target, maxOpen } = options
    this.open = new OpenCalls({ requests: maxOpen, bytes: maxMessage })
    this.context = {
      log,
      maxMessage,
      ending: this.ending.signal,
      receive: (message) => this.receive(message),
      fail: (call, error) => this.fail(call, error),
      request: (request) => this.request(request),
      renewSession: (lost) => this.renewSession(lost),
      fallBackToLegacy: (call) => this.fallBackToLegacy(call),
    }
    this.transport = new StreamableHttp(link, target.pathname + target.search, this.context)
  }

  /** Resolves when the next message may be sent. */
  async send(message: Message): Promise<void> {
    // A target may wait for responses to its own requests, such as a ping, before it answers `initialize`.
    if (message.responseIds.length === 0) {
      await this.renewing
      await this.initializing
    }
    const cancelled = this.calls.get(cancelledId(message) ?? '')
    if (this.cancel(message)) return
    const call = new Call(message)
    if (!this.hasRoom(call)) {
      abandonCancelled(cancelled)
      await this.fail(
        call,
        unavailable('too many requests are open: try again when some of them have their response'),
      )
      return
    }
    this.sessionState.recordSent(message)
    if (call.method === 'initialize') this.sessionLost = undefined
    else if (this.sessionLost === 'for now') await this.renewSession(this.transport.session)
    if (this.sessionLost !== undefined) {
      await this.fail(call, SESSION_ENDED)
      return
    }
    for (const id of message.requestIds) this.calls.set(id, call)
    const progress = this.transport.send(call)
    this.track(call, progress.done)
    void progress.flushed.then(() => call.markSent())
    if (call.method === 'initialize') this.initializing = answered(call, progress.done)
    else if (message.requestIds.length > 0)
      await this.backlog.wait(progress.flushed, message.bytes.length, ORDER_TIMEOUT)
    else await Promise.race([progress.accepted, setTimeout(ORDER_TIMEOUT, undefined, { ref: false })])
    abandonCancelled(cancelled)
  }

  /** Waits for open requests, for `limit` milliseconds at most; then aborts the rest and closes the transport. */
  async finish(limit: number): Promise<void> {
    await Promise.race([
      this.idle(),
      setTimeout(limit, undefined, { signal: this.ending.signal }).catch(() => {}),
    ])
    this.ending.abort(new Error('the conversation has ended'))
    await Promise.all(this.work)
    this.closing ??= this.transport.close(AbortSignal.timeout(CLOSE_LIMIT)).catch(() => {})
    await this.closing
  }

  private hasRoom(call: Call): boolean {
    return call.unanswered.length > 0 ? this.open.add(call) : this.notifications < MAX_NOTIFICATIONS
  }

  private async idle(): Promise<void> {
    while (this.work.size > 0) await Promise.all(this.work)
  }

  private track(call: Call, done: Promise<void>): void {
    const count = call.message.requestIds.length === 0 ? 1 : 0
    this.notifications += count
    const work = done.finally(() => {
      this.work.delete(work)
      this.notifications -= count
      for (const id of call.message.requestIds) if (this.calls.get(id) === call) this.calls.delete(id)
    })
    this.work.add(work)
  }

  /**
   * Cancels the request that the message names; `true` when the message itself need not be sent. Since 2026-07-28 HTTP
   * cancels by closing the stream. So does this for a call that is not completely sent, unless other requests of its
   * batch are open.
   */
  private cancel(message: Message): boolean {
    const id = cancelledId(message)
    const call = id === undefined ? undefined : this.calls.get(id)
    if (id === undefined || call === undefined) return false
    this.calls.delete(id)
    const ends = call.isStateless || (!call.isSent && call.unanswered.length === 1)
    if (ends) call.abandon()
    else call.markAnswered(id)
    return ends
  }

  private async receive(message: Message): Promise<void> {
    const { responseIds } = message
    const [only] = responseIds
    const onResponse = only === undefined ? undefined : this.internalRequests.get(only)
    const hasSucceeded = onResponse === undefined && message.single['result'] !== undefined
    for (const id of responseIds) {
      const call = this.calls.get(id)
      call?.markAnswered(id)
      if (call !== undefined && hasSucceeded) this.sessionState.recordDone(call.message)
    }
    if (onResponse !== undefined) {
      onResponse(message)
      return
    }
    if (this.sessionState.isInitializeResponse(message)) this.sessionState.recordNegotiated(message)
    await this.options.output.writeMessage(message.bytes)
  }

  private async fail(call: Call, error: { readonly code: number; readonly message: string }): Promise<void> {
    const { unanswered } = call
    for (const id of unanswered) call.markAnswered(id)
    if (call.isInternal) for (const id of call.message.requestIds) this.internalRequests.get(id)?.(undefined)
    else if (this.ending.signal.aborted) return
    else if (unanswered.length === 0) {
      this.options.log.warn(
        { problem: error.message },
        'the target did not accept a notification or a response',
      )
    } else for (const id of unanswered) await this.options.output.writeError(id, error)
  }

  private async fallBackToLegacy(call: Call): Promise<boolean> {
    const { link, target, log } = this.options
    const legacy = new LegacySse(link, target, this.context)
    if (!(await legacy.connect())) return false
    log.info('the target speaks the transport of 2024-11-05')
    this.transport = legacy
    await legacy.send(call).done
    return true
  }

  private renewSession(lost: object): Promise<boolean> {
    if (this.renewing === undefined && this.transport.session !== lost)
      return Promise.resolve(this.sessionLost === undefined)
    this.renewing ??= this.replaySession().finally(() => {
      this.renewing = undefined
    })
    return this.renewing
  }

  /**
   * Replays the messages that set up the old session in a new one. The client does not notice, so all have to succeed.
   */
  private async replaySession(): Promise<boolean> {
    const { log } = this.options
    this.sessionLost = undefined
    for (const message of this.sessionState.messages) {
      const response = await this.request(message)
      if (response === undefined && message.requestIds.length > 0) {
        log.warn('the session with the target has ended, and there is no new one yet')
        this.sessionLost = 'for now'
        return false
      }
      if (this.sessionState.isRestoredBy(message, response)) continue
      log.error('the session with the target has ended, and a new one would not be the same')
      this.sessionLost = 'for good'
      return false
    }
    if (this.sessionState.messages.length === 0) return false
    log.info('the session with the target had ended, and was replaced by a new one')
    return true
  }

  /** Sends a message of the bridge's own, and returns the response instead of passing it to the client. */
  private async request(message: Message): Promise<Message | undefined> {
    const call = new Call(message, true)
    const [id] = message.requestIds
    let response: Message | undefined
    if (id !== undefined) {
      this.calls.set(id, call)
      this.internalRequests.set(id, (received) => {
        response = received
      })
    }
    const { done } = this.transport.send(call)
    this.track(call, done)
    await answered(call, done)
    if (id !== undefined) this.internalRequests.delete(id)
    return response
  }
}

/** Resolves at the response: a target may leave the stream open on which the response came. */
const answered = (call: Call, done: Promise<void>): Promise<void> =>
  call.message.requestIds.length === 0 ? done : Promise.race([done, call.closed])

/** A target need not respond to a request that was cancelled, and an open HTTP request costs memory. */
function abandonCancelled(cancelled: Call | undefined): void {
  if (cancelled?.unanswered.length === 0) cancelled.abandon()
}

/** Limits the bytes of messages that were read from the client and are not sent to the target yet. */
class Backlog {
  private readonly waiting = new Map<Promise<void>, number>()
  private total = 0

  /** `maxBytes` not counting the largest message, so that one that is stuck does not block small ones. */
  constructor(private readonly maxBytes: number) {}

  /** Resolves when the message is sent, or others may overtake it: after `timeout` milliseconds, if there is room. */
  async wait(sent: Promise<void>, bytes: number, timeout: number): Promise<void> {
    this.waiting.set(sent, bytes)
    this.total += bytes
    const done = sent.then(() => {
      this.waiting.delete(sent)
      this.total -= bytes
    })
    await waitAtMost(timeout, done)
    while (this.total - Math.max(0, ...this.waiting.values()) > this.maxBytes) {
      await Promise.race(this.waiting.keys())
    }
  }
}

interface Limits {
  readonly requests: number
  readonly bytes: number
}

/** How many requests are open: sent, and neither answered, cancelled nor failed. Each of a batch counts. */
export class OpenCalls {
  private requests = 0
  private bytes = 0

  constructor(private readonly limits: Limits) {}

  /** Counts a call until no request in it is open; `false` when there is no room for it. */
  add(call: Call): boolean {
    const { bytes } = call.message
    const count = call.unanswered.length
    // The bytes of this call do not count, so that one large call always fits.
    if (this.requests + count > this.limits.requests || this.bytes > this.limits.bytes) return false
    this.requests += count
    this.bytes += bytes.length
    call.onSettled((settled) => {
      this.requests -= settled
    })
    void call.closed.then(() => {
      this.bytes -= bytes.length
    })
    return true
  }
}
