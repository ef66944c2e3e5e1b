import type { IncomingMessage } from 'node:http'
import { Refusal } from 'sallyport'
import type { Arriving, SlowBodies } from './slow-bodies.js'
import type { SpentBodies } from './spent-bodies.js'

/** What the head of a request says of its body. */
export interface BodyFacts {
  /** In bytes; undefined when only the end of the stream will tell. */
  readonly length: number | undefined
  readonly chunked: boolean
}

/** Node has refused what frames a body twice; what is left is one way, or none. */
export function bodyFacts({ headers }: IncomingMessage, most: number): BodyFacts {
  const coding = headers['transfer-encoding']
  if (coding !== undefined) {
    if (coding.toLowerCase() !== 'chunked') throw unknownCoding()
    return { length: undefined, chunked: true }
  }
  const length = Number(headers['content-length'] ?? 0)
  if (length > most) throw tooLarge()
  return { length, chunked: false }
}

export interface BodyLimits {
  readonly most: number
  readonly slow: SlowBodies
  readonly spent: SpentBodies
}

/** A caller's body: read whole, or as it comes, and in both cases no more of it than allowed and no slower. */
export class Body implements Arriving {
  moved = true
  stood = false
  private size = 0
  private early: Buffer[] = []
  private take: (chunk: Buffer) => void = () => {}
  private finish: () => void = () => {}
  private reading = false
  private ended = false

  constructor(
    private readonly message: IncomingMessage,
    private readonly limits: BodyLimits,
    private readonly wrong: (refusal: Refusal) => void,
  ) {}

  /** Reads to the end if that is not further than `most` bytes; otherwise what was read waits for `flow`. */
  collect(length: number | undefined, most: number, done: (whole: Buffer | undefined) => void): void {
    const { message } = this
    // A small one mostly comes in one piece with its head. By the next tick it is there, and nothing has to be listened for.
    process.nextTick(() => {
      if (message.readableLength !== length) {
        this.gather(most, done)
        return
      }
      const whole = message.read()
      this.limits.spent.add(whole)
      done(whole)
    })
  }

  private gather(most: number, done: (whole: Buffer | undefined) => void): void {
    let size = 0
    const finish = (): void => {
      const { early } = this
      done(early.length === 1 ? early[0] : Buffer.concat(early))
    }
    const take = (chunk: Buffer): void => {
      this.early.push(chunk)
      size += chunk.length
      if (size <= most) return
      this.message.pause()
      done(undefined)
    }
    this.read(take, finish)
  }

  /** Hands on what comes, until `take` says `false`; `resume` goes on. */
  flow(take: (chunk: Buffer) => boolean, finish: () => void): void {
    const passOn = (chunk: Buffer): void => {
      if (!take(chunk)) this.message.pause()
    }
    for (const chunk of this.early.splice(0)) passOn(chunk)
    if (this.ended) finish()
    else this.read(passOn, finish)
  }

  resume(): void {
    this.message.resume()
  }

  tooSlow(): void {
    // Paused is our doing, or the target's.
    if (this.message.isPaused()) this.limits.slow.add(this)
    else this.wrong(tooSlow())
  }

  /**
   * The functions come with names: one that is written where a property gets it is among the old objects at once, as V8
   * takes it for a method, and all of its call would stay with it until the next full collection.
   */
  private read(take: (chunk: Buffer) => void, finish: () => void): void {
    this.take = take
    this.finish = finish
    if (this.reading) {
      this.message.resume()
      return
    }
    this.reading = true
    this.limits.slow.add(this)
    this.message.on('data', (chunk: Buffer) => {
      this.moved = true
      this.size += chunk.length
      this.limits.spent.add(chunk)
      if (this.size > this.limits.most) this.wrong(tooLarge())
      else this.take(chunk)
    })
    this.message.on('end', () => {
      this.ended = true
      this.finish()
    })
    this.message.on('close', () => this.limits.slow.delete(this))
  }
}

const tooLarge = (): Refusal =>
  new Refusal(413, 'BODY_TOO_LARGE', 'the body is larger than this gateway takes')

const tooSlow = (): Refusal => new Refusal(408, 'BODY_TOO_SLOW', 'the rest of the body did not come in time')

const unknownCoding = (): Refusal =>
  new Refusal(501, 'TRANSFER_CODING', 'only chunked is understood as transfer coding')
