import { createRequire } from 'node:module'
import type { Dispatcher, Pool } from 'undici'
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
    this.pool = new ConnectionPool(origin, { connect, bodyTimeout: 0 })
  }

  send({ method, path, headers, body, patience }: Outgoing, receiver: Receiver): Trip {
    const trip = new QuickTrip(receiver)
    const whole = Buffer.isBuffer(body) ? body : null
    this.pool.dispatch({ method, path, headers, body: whole, headersTimeout: patience }, trip)
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
  private over = false

  constructor(private readonly receiver: Receiver) {}

  onConnect(abort: (error?: Error) => void): void {
    if (this.over) abort()
    else this.connection = abort
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, reason: string): boolean {
    // Informational answers come before the real one.
    if (status < 200 || this.over) return true
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
    this.receiver.failed(error)
  }

  resume(): void {
    this.flow?.()
  }

  abort(): void {
    if (this.over) return
    this.over = true
    this.connection?.()
  }
}

const latin1 = (text: Buffer | string): string => (typeof text === 'string' ? text : text.toString('latin1'))

// undici reads the reason as UTF-8; on the wire it is bytes.
const bytesOf = (reason: string): string =>
  ASCII.test(reason) ? reason : Buffer.from(reason).toString('latin1')

const ASCII = /^[\x20-\x7e]*$/
