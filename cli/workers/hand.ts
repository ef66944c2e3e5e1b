import type { Worker } from 'node:cluster'
import type { Addresses } from 'sallyport'
import {
  type Answer,
  errorOf,
  type Failure,
  type Orders,
  type OwnAnswer,
  type Question,
  type ToPrimary,
  type ToWorker,
} from './messages.js'

export interface Death {
  readonly code: number | null
  readonly signal: string | null
}

interface Exchange {
  readonly done: (addresses: Addresses) => void
  readonly failed: (error: Error) => void
}

/** One worker process, as the primary sees it. */
export class Hand {
  stage: 'starting' | 'started' | 'opening' | 'ready' | 'leaving' = 'starting'
  /** What it was told to be. */
  orders: Orders | undefined
  failure: Failure | undefined
  readonly gone: Promise<Death>
  private exchange: Exchange | undefined
  private readonly asked = new Map<number, (answer: OwnAnswer | undefined) => void>()
  private questions = 0
  private unanswered = 0

  constructor(
    readonly number: number,
    private readonly worker: Worker,
    hear: (message: ToPrimary) => void,
  ) {
    worker.on('message', (message: ToPrimary) => {
      this.unanswered = 0
      hear(message)
    })
    const drained = new Promise((resolve) => worker.on('disconnect', resolve))
    this.gone = new Promise((resolve) => {
      // Its last words may still be on their way then.
      worker.on('exit', (code, signal) => void drained.then(() => resolve({ code, signal })))
      // It could not even be started.
      worker.on('error', () => {
        if (worker.process.pid === undefined) resolve({ code: null, signal: null })
      })
    })
    void this.gone.then(() => this.release())
  }

  get pid(): number | undefined {
    return this.worker.process.pid
  }

  /** Names this process among all that there were. */
  get id(): number {
    return this.worker.id
  }

  boot(orders: Orders, quiet: boolean): void {
    this.orders = orders
    this.tell({ kind: 'boot', orders, quiet })
  }

  open(): void {
    this.stage = 'opening'
    this.tell({ kind: 'open' })
  }

  /** Settles when it has exchanged its list and what was in flight in the old one has ended. */
  swap(orders: Orders, quiet: boolean): Promise<Addresses> {
    return new Promise((resolve, failed) => {
      const done = (addresses: Addresses): void => {
        this.orders = orders
        resolve(addresses)
      }
      this.exchange = { done, failed }
      this.tell({ kind: 'swap', orders, quiet })
    })
  }

  /** Its answer; none when it ends before, or does not answer within so many milliseconds. */
  ask(question: Question, limit: number | undefined): Promise<OwnAnswer | undefined> {
    const id = this.questions++
    return new Promise((resolve) => {
      const timer = limit === undefined ? undefined : setTimeout(() => this.settle(id, undefined), limit)
      this.asked.set(id, (answer) => {
        clearTimeout(timer)
        resolve(answer)
      })
      this.tell({ kind: 'question', id, question })
    })
  }

  /** Asks for a sign of life. Answers how many times in a row it was asked before and gave none. */
  knock(): number {
    // What has not said a word yet cannot hear either.
    if (this.orders === undefined) return 0
    this.tell({ kind: 'knock' })
    return this.unanswered++
  }

  reply(id: number, answer: Answer): void {
    this.tell({ kind: 'answer', id, answer })
  }

  /** Takes in what is not for the whole crew. */
  hear(message: ToPrimary): void {
    if (message.kind === 'answer') this.settle(message.id, message.answer)
    else if (message.kind === 'swapped') this.exchange?.done(message.addresses)
    else if (message.kind === 'failed' && this.stage === 'ready')
      this.exchange?.failed(errorOf(message.failure))
    else if (message.kind === 'failed') this.failure = message.failure
  }

  /** It takes nothing new, answers what is in flight, and ends. */
  leave(): void {
    // What has not said a word yet would not hear this one for a while.
    if (this.orders === undefined) this.kill()
    else this.tell({ kind: 'stop' })
    this.stage = 'leaving'
  }

  kill(): void {
    this.worker.process.kill('SIGKILL')
  }

  private tell(message: ToWorker): void {
    // A worker that dies at this moment is heard of by its end.
    this.worker.send(message, () => {})
  }

  private settle(id: number, answer: OwnAnswer | undefined): void {
    this.asked.get(id)?.(answer)
    this.asked.delete(id)
  }

  private release(): void {
    for (const id of [...this.asked.keys()]) this.settle(id, undefined)
    this.exchange?.failed(new Error(`worker ${this.number} ended meanwhile`))
  }
}
