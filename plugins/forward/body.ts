import type { IncomingMessage } from 'node:http'
import { Refusal } from 'sallyport'
import { bodyIncomplete, bodyTooLarge, bodyTooSlow, MAX_OBSERVED_BODY } from 'sallyport/toolkit'
import {
  type BodyBudget,
  type Evictable,
  type IncomingBody,
  KeptBytes,
  type SlowBodies,
} from './body-budget.js'

export interface BodyLimits {
  readonly maxBytes: number
  /** Milliseconds for the rest of a body after its response. */
  readonly dropTimeout: number
  readonly slowBodies: SlowBodies
  readonly kept: BodyBudget
}

/**
 * A request body, read whole or as a stream, within the limits on size and rate. Its kept bytes count in the budget
 * until they are passed on or discarded.
 */
export class Body implements IncomingBody, Evictable {
  // Infinite, so that the first sweep does not call the body slow: earlier bytes were not counted.
  received = Number.POSITIVE_INFINITY
  wasSlow = false
  private size = 0
  private readonly kept: KeptBytes
  private buffered: Buffer[] = []
  private onChunk: (chunk: Buffer) => void = noop
  private write: (chunk: Buffer) => boolean = acceptAll
  private onEnd: () => void = noop
  private onFailure: (refusal: Refusal) => void = noop
  private listening = false
  private ended = false
  private buffering = false
  private collected = false
  private dropped = false
  private copy: BodyCopy | undefined

  constructor(
    private readonly message: IncomingMessage,
    private readonly limits: BodyLimits,
    /** The caller whose share its bytes count in. */
    private readonly caller: string | undefined,
    private readonly onRefusal: (refusal: Refusal) => void,
  ) {
    this.kept = new KeptBytes(limits.kept, caller, this)
  }

  /**
   * Reads the whole body if it has at most `maxBytes` and fits into the budget. Otherwise `done` gets undefined, and
   * the bytes that were read stay buffered for `streamTo`.
   */
  readWhole(length: number | undefined, maxBytes: number, done: (whole: Buffer | undefined) => void): void {
    const { message } = this
    // A small body mostly arrives with its head: on the next tick it can be read without listeners.
    process.nextTick(() => {
      if (message.readableLength !== length || !this.kept.reserve(length)) {
        this.bufferUpTo(maxBytes, done)
        return
      }
      done(message.read())
    })
  }

  /** Passes chunks on until `write` returns `false`; `resume` continues. */
  streamTo(sink: (chunk: Buffer) => boolean, onEnd: () => void): void {
    const write = this.copy?.tee(sink) ?? sink
    const onChunk = (chunk: Buffer): void => {
      if (!write(chunk)) this.pause()
    }
    this.write = write
    this.onChunk = onChunk
    this.onEnd = onEnd
    this.resume()
  }

  /** From now on, copies each chunk that is passed on. `whole` gets the copy. */
  copyTo(whole: (body: Buffer | undefined) => void): void {
    this.copy = new BodyCopy(this.limits.kept, this.caller, whole)
  }

  resume(): void {
    this.received = Number.POSITIVE_INFINITY
    for (let chunk = this.buffered.shift(); chunk !== undefined; chunk = this.buffered.shift()) {
      this.kept.free(Math.min(chunk.length, this.kept.size))
      if (!this.write(chunk)) return
    }
    if (this.ended) this.complete()
    else this.read()
  }

  /** Reads a body of which nothing was read yet: at once if all of it has arrived. */
  readAll(length: number | undefined, maxBytes: number): Buffer | Promise<Buffer> {
    const { message } = this
    const hasArrived = message.readableLength === length && length <= maxBytes && !message.destroyed
    return hasArrived && this.kept.reserve(length) ? message.read() : this.collect(maxBytes)
  }

  /** Reads the buffered bytes and the rest. All count as kept; a body over `maxBytes` is refused. */
  collect(maxBytes: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.onFailure = reject
      // `close` may have been emitted already.
      if (this.message.destroyed && !this.ended) reject(bodyIncomplete())
      const chunks: Buffer[] = []
      let size = 0
      const refuse = (refusal: Refusal): boolean => {
        this.refuse(refusal)
        return false
      }
      const onChunk = (chunk: Buffer): boolean => {
        size += chunk.length
        if (size > maxBytes) return refuse(bodyTooLarge())
        if (!this.kept.demand(chunk.length)) return refuse(noRoom())
        this.kept.arrived()
        chunks.push(chunk)
        return true
      }
      this.streamTo(onChunk, () => {
        this.collected = true
        resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks))
        chunks.length = 0
        // These functions hold the promise, and so the bytes.
        this.onFailure = noop
        this.onChunk = noop
        this.write = acceptAll
      })
    })
  }

  /** Drops the buffered chunks, and frees the kept bytes. */
  discard(): void {
    this.copy?.discard()
    this.buffered = []
    this.kept.free()
  }

  /**
   * Reads and drops the rest after the response: a caller that sends its whole body first reads the response only then.
   */
  drop(): void {
    const { message, limits, onFailure } = this
    this.discard()
    if (!mayContinue(message)) return
    this.dropped = true
    this.copy = undefined
    this.onEnd = noop
    this.onFailure = noop
    onFailure(bodyIncomplete())
    this.read()
    limits.slowBodies.delete(this)
    limitRemaining(message, limits.dropTimeout)
  }

  evict(): void {
    this.refuse(bodyTooSlow())
  }

  onTooSlow(): void {
    // A paused stream waits for the target, not for the caller.
    if (this.message.isPaused()) this.limits.slowBodies.add(this)
    else this.refuse(bodyTooSlow())
  }

  private bufferUpTo(maxBytes: number, done: (whole: Buffer | undefined) => void): void {
    const onEnd = (): void => {
      const { buffered } = this
      this.buffered = []
      this.collected = true
      this.onChunk = noop
      done(buffered.length === 1 ? buffered[0] : Buffer.concat(buffered))
    }
    const onChunk = (chunk: Buffer): void => {
      this.buffered.push(chunk)
      if (!this.buffering) return
      if (this.size <= maxBytes && this.kept.reserve(chunk.length)) {
        this.kept.arrived()
        return
      }
      this.buffering = false
      this.pause()
      done(undefined)
    }
    this.buffering = true
    this.onChunk = onChunk
    this.onEnd = onEnd
    this.read()
  }

  private read(): void {
    if (this.listening) {
      this.message.resume()
      return
    }
    this.listening = true
    this.limits.slowBodies.add(this)
    this.message.on('data', (chunk: Buffer) => {
      if (this.dropped) return
      this.received += chunk.length
      this.size += chunk.length
      if (this.size > this.limits.maxBytes) this.refuse(bodyTooLarge())
      else this.onChunk(chunk)
    })
    this.message.on('end', () => {
      this.ended = true
      this.kept.settled()
      // The end must not overtake chunks that are still buffered.
      if (this.buffering || this.buffered.length === 0) this.complete()
    })
    this.message.on('close', () => {
      this.limits.slowBodies.delete(this)
      if (this.collected) return
      this.discard()
      this.onFailure(bodyIncomplete())
    })
  }

  private complete(): void {
    const { onEnd } = this
    this.onEnd = noop
    onEnd()
    this.copy?.end()
  }

  private pause(): void {
    this.kept.settled()
    this.received = Number.POSITIVE_INFINITY
    this.message.pause()
  }

  private refuse(refusal: Refusal): void {
    this.dropped = true
    this.onEnd = noop
    this.discard()
    this.onRefusal(refusal)
    this.onFailure(refusal)
  }
}

const noop = (): void => {}

const acceptAll = (): boolean => true

const noRoom = (): Refusal =>
  new Refusal(503, 'BODIES_FULL', 'the gateway holds too many request bodies at this moment', {
    retryAfter: 1,
  })

/** The framing of a request body, from the head of the request. */
export interface BodyFraming {
  /** In bytes; undefined when the body is chunked. */
  readonly length: number | undefined
  readonly chunked: boolean
}

/** Reads the framing. Node has already refused a request that frames its body twice. */
export function bodyFraming({ headers }: IncomingMessage, maxBytes: number): BodyFraming {
  const coding = headers['transfer-encoding']
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked') throw unsupportedCoding()
    return { length: undefined, chunked: true }
  }
  const length = Number(headers['content-length'] ?? 0)
  if (length > maxBytes) throw bodyTooLarge()
  return { length, chunked: false }
}

const unsupportedCoding = (): Refusal =>
  new Refusal(501, 'TRANSFER_CODING', 'the only supported transfer coding is chunked')

/** Whether more of a body is to be read, on a connection that stays open: a dispatched request has no connection. */
const mayContinue = ({ complete, readableLength, socket }: IncomingMessage): boolean =>
  (!complete || readableLength > 0) && socket.writable

/** Limits the time for the rest of a body after its response. Then Node emits no `close` on the request any more. */
function limitRemaining(message: IncomingMessage, milliseconds: number): void {
  const { socket } = message
  const timer = setTimeout(() => socket.destroy(), milliseconds)
  const stop = (): void => {
    clearTimeout(timer)
    socket.off('close', stop)
  }
  message.once('end', stop)
  socket.once('close', stop)
}

/** A copy of a streamed body, for observers. It is discarded if it does not fit into the budget. */
export class BodyCopy implements Evictable {
  private chunks: Buffer[] | undefined = []
  private readonly kept: KeptBytes

  constructor(
    budget: BodyBudget,
    caller: string | undefined,
    private readonly done: (whole: Buffer | undefined) => void,
  ) {
    this.kept = new KeptBytes(budget, caller, this)
  }

  /** Copies each chunk that is written. */
  tee(write: (chunk: Buffer) => boolean): (chunk: Buffer) => boolean {
    return (chunk) => {
      this.add(chunk)
      return write(chunk)
    }
  }

  end(): void {
    const { chunks } = this
    this.done(chunks && Buffer.concat(chunks))
    this.discard()
  }

  discard(): void {
    this.chunks = undefined
    this.kept.free()
  }

  evict(): void {
    this.discard()
  }

  private add(chunk: Buffer): void {
    if (this.chunks === undefined) return
    const fits = this.kept.size + chunk.length <= MAX_OBSERVED_BODY && this.kept.reserve(chunk.length)
    if (!fits) {
      this.discard()
      return
    }
    this.kept.arrived()
    this.chunks.push(chunk)
  }
}
