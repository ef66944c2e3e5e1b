import type { AuditEvent } from 'sallyport'
import { waitAtMost } from 'sallyport/toolkit'
import { lineOf } from './line.js'
import { LineQueue } from './line-queue.js'
import type { Lines } from './lines.js'
import { Losses, type LossReport } from './losses.js'

/** The result of one attempt to store lines. */
export interface DeliveryResult {
  /** How many lines are stored, counted from the first. */
  readonly stored: number
  /** The receiver refuses all of these lines for good. */
  readonly refused?: string
  /** Why the other lines have to be tried again, after `retryAfter` milliseconds at least. */
  readonly failure?: { readonly reason: string; readonly retryAfter?: number | undefined }
}

/** One entry of a list: where its lines go, and where it reports lost events. */
export interface Destination {
  readonly report: LossReport
  readonly limits: DeliveryLimits
  /** There is one call at a time, and it does not throw. */
  deliver(lines: Lines, signal: AbortSignal): Promise<DeliveryResult>
}

interface DeliveryLimits {
  /** Milliseconds for which the first line waits for others. */
  readonly delay: number
  /** The most lines and bytes of a batch. A full batch is sent at once. */
  readonly lines: number
  readonly bytes: number
  /** Milliseconds between attempts: the first pause, and the longest. */
  readonly backoff: readonly [first: number, most: number]
}

/** The most bytes that wait. */
const QUEUE_SIZE = 8 * 1024 * 1024
/** Milliseconds that `end` may take; each step of a stop has ten seconds. */
const END_LIMIT = 5_000
/** Milliseconds after which the log reports a batch that is still under way. */
const SLOW = 5_000

/**
 * Stores lines in order, batch by batch, after their requests. The lists before and after a reload add to the same
 * queue, and the newer list decides where the lines go.
 */
export class Delivery {
  private readonly queue = new LineQueue(QUEUE_SIZE)
  private readonly losses: Losses
  private readonly ending = new AbortController()
  private readonly destinations: Destination[]
  private sending: { readonly to: Destination; readonly done: Promise<DeliveryResult> } | undefined
  private timer: NodeJS.Timeout | undefined
  private isImmediate = false
  private work: Promise<void> | undefined
  private wake: () => void = () => {}
  private failures = 0
  private stopping = false

  constructor(first: Destination) {
    this.destinations = [first]
    this.losses = new Losses(() => this.destination.report)
  }

  /** From now on lines go to this destination. */
  join(destination: Destination): void {
    if (this.destination === destination) return
    this.destinations.push(destination)
    // The reload may have corrected what made the last attempt fail.
    this.wake()
  }

  /** Resolves when nothing uses the destination any more. The last one stays until `end`. */
  async leave(destination: Destination): Promise<void> {
    const index = this.destinations.indexOf(destination)
    // The destination of a list whose start failed has not joined.
    if (index < 0 || this.destinations.length === 1) return
    this.destinations.splice(index, 1)
    if (this.sending?.to === destination) await waitAtMost(END_LIMIT, this.sending.done)
  }

  add(event: AuditEvent): void {
    if (this.ending.signal.aborted) this.losses.loseAfterEnd()
    else if (!this.queue.add(lineOf(event), event.requestId)) this.losses.lose(1)
    else if (this.work === undefined) this.schedule()
  }

  /** Tries once more to store the waiting lines, for a limited time. The rest is lost. */
  async end(): Promise<void> {
    this.stopping = true
    this.wake()
    this.start()
    if (this.work !== undefined) await waitAtMost(END_LIMIT, this.work)
    this.ending.abort()
    clearTimeout(this.timer)
    this.losses.lose(this.queue.length, 'the gateway stops')
    this.losses.ended()
  }

  private get destination(): Destination {
    const last = this.destinations.at(-1)
    if (last === undefined) throw new Error('a delivery has a destination')
    return last
  }

  // By a timer, also for a full batch: `add` runs during a request.
  private schedule(): void {
    const { delay, lines, bytes } = this.destination.limits
    const isFull = this.queue.length >= lines || this.queue.size >= bytes
    if (this.timer !== undefined && (this.isImmediate || !isFull)) return
    clearTimeout(this.timer)
    this.isImmediate = isFull
    this.timer = setTimeout(() => this.start(), isFull ? 0 : delay).unref()
  }

  private start(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.isImmediate = false
    this.work ??= this.storeWaiting().finally(() => {
      this.work = undefined
      if (this.queue.length > 0 && !this.stopping) this.schedule()
    })
  }

  private async storeWaiting(): Promise<void> {
    let due = this.queue.length
    while (due > 0 || (this.stopping && this.queue.length > 0)) {
      const { removed, failure } = await this.storeBatch()
      if (this.ending.signal.aborted) return
      due -= removed
      if (failure === undefined) continue
      if (this.stopping) return
      await this.pause(failure.retryAfter ?? 0)
    }
  }

  private async storeBatch(): Promise<{ removed: number; failure: DeliveryResult['failure'] }> {
    const { destination: to } = this
    const lines = this.queue.peek(to.limits.lines, to.limits.bytes)
    this.sending = { to, done: to.deliver(lines, this.ending.signal) }
    const slow = setTimeout(() => this.losses.failed('the first batch takes more than 5 s'), SLOW).unref()
    const { stored, refused, failure } = await this.sending.done
    clearTimeout(slow)
    this.sending = undefined
    const removed = refused === undefined ? stored : lines.lengths.length
    // `end` has counted the waiting lines as lost.
    if (this.ending.signal.aborted) return { removed, failure }

    this.queue.remove(removed)
    if (removed > 0) this.failures = 0
    if (failure !== undefined) this.failures++
    if (refused !== undefined) this.losses.lose(lines.lengths.length, refused)
    else if (failure !== undefined) this.losses.failed(failure.reason)
    else if (!this.queue.isHalfFull) this.losses.stored()
    return { removed, failure }
  }

  private pause(atLeast: number): Promise<void> {
    const [first, most] = this.destination.limits.backoff
    const backoff = Math.min(most, first * 2 ** (this.failures - 1)) * (0.75 + Math.random() / 2)
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(atLeast, backoff)).unref()
      this.wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
