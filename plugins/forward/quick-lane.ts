import { createRequire } from 'node:module'
import type { Dispatcher, Pool } from 'undici'
import { tooLate } from './failures.js'
import type { Head, Lane, Outgoing, Receiver, Trip } from './lane.js'
import type { Target } from './target.js'

// The whole of undici is a hundred files, and every start would wait for all of them.
const ConnectionPool: typeof Pool = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js')

/**
 * The way for calls whose body is small and there as a whole, which is nearly all of them: undici's dispatcher
 * without streams, promises or header objects in between.
 */
export class QuickLane implements Lane {
  private readonly pool: Pool

  constructor({ origin }: Target, connect: Pool.Options['connect']) {
    // undici's own timers for answers outlive their calls by up to a second, and make old objects of young ones.
    this.pool = new ConnectionPool(origin, { connect, headersTimeout: 0, bodyTimeout: 0 })
  }

  send({ method, path, headers, body, patience }: Outgoing, receiver: Receiver): Trip {
    const trip = new QuickTrip(receiver, patience)
    const whole = Buffer.isBuffer(body) ? body : null
    this.pool.dispatch({ method, path, headers, body: whole }, trip)
    return trip
  }

  close(): void {
    void this.pool.destroy()
  }
}

/** undici's older handler: the newer one parses every header into an object and loses order, case and repeats. */
class QuickTrip implements Dispatcher.DispatchHandler, Trip {
  private connection: ((error?: Error) => void) | undefined
  private flow: (() => void) | undefined
  private timer: NodeJS.Timeout | undefined
  private over = false

  constructor(
    private readonly receiver: Receiver,
    private readonly patience: number,
  ) {}

  onConnect(abort: (error?: Error) => void): void {
    if (this.over) {
      abort()
      return
    }
    this.connection = abort
    if (this.patience > 0) this.timer = setTimeout(expire, this.patience, this)
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, reason: string): boolean {
    // Informational answers come before the real one.
    if (status < 200 || this.over) return true
    clearTimeout(this.timer)
    this.flow = resume
    const head: Head = { status, reason: bytesOf(reason), headers: headers.map(latin1) }
    return this.receiver.head(head, this)
  }

  onData(chunk: Buffer): boolean {
    return this.over || this.receiver.data(chunk)
  }

  onComplete(trailers: string[] | null): void {
    if (this.over) return
    this.over = true
    // The types say text; they are buffers, as the headers are.
    this.receiver.end((trailers ?? []).map(latin1))
  }

  onError(error: Error): void {
    if (this.over) return
    this.over = true
    clearTimeout(this.timer)
    this.receiver.failed(error)
  }

  expire(): void {
    this.onError(tooLate())
    this.connection?.()
  }

  resume(): void {
    this.flow?.()
  }

  abort(): void {
    if (this.over) return
    this.over = true
    clearTimeout(this.timer)
    this.connection?.()
  }
}

const expire = (trip: QuickTrip): void => trip.expire()

const latin1 = (text: Buffer | string): string => (typeof text === 'string' ? text : text.toString('latin1'))

// undici reads the reason as UTF-8; on the wire it is bytes.
const bytesOf = (reason: string): string =>
  ASCII.test(reason) ? reason : Buffer.from(reason).toString('latin1')

const ASCII = /^[\x20-\x7e]*$/
