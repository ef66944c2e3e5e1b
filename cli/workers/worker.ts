import cluster from 'node:cluster'
import { createLog, type List, type Running, Scrubber, type ServeContext, serve } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import { endOnSurprise } from '../signals.js'
import { exitCode } from '../terminal.js'
import {
  type Answer,
  failureOf,
  type Orders,
  type OwnAnswer,
  type Question,
  type ToPrimary,
  type ToWorker,
} from './messages.js'
import { inWorker } from './parts.js'

/** Is one of several processes on a port: it does what the primary says, and ends when that is gone. */
export const work = (number: number, debug: boolean): Promise<number> => new Worker(number, debug).run()

class Worker {
  private readonly scrubber = new Scrubber()
  private readonly ending = new AbortController()
  private readonly asked = new Map<number, (answer: Answer) => void>()
  private questions = 0
  private boots = 0
  private running: Running | undefined
  private busy: Promise<void> = Promise.resolve()
  private open: () => void = () => {}
  private answering: (question: Question) => Promise<OwnAnswer> = async () => NOT_YET

  constructor(
    private readonly number: number,
    private readonly debug: boolean,
  ) {}

  run(): Promise<number> {
    // Who sends them to all processes of a group means the gateway, and the primary ends it worker by worker.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
    endOnSurprise(this.log(false))
    return new Promise((end) => {
      // Node would end this process at once, in the middle of answers.
      if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
      process.on('disconnect', () => void this.stop().then(end))
      process.on('message', (message: ToWorker) => void this.obey(message, end))
      void this.tell({ kind: 'here' })
    })
  }

  private async obey(message: ToWorker, end: (code: number) => void): Promise<void> {
    switch (message.kind) {
      case 'boot':
        this.busy = this.boot(message.orders, message.quiet, end)
        return
      case 'swap':
        this.busy = this.swap(message.orders, message.quiet)
        return
      case 'open':
        this.open()
        return
      case 'stop':
        end(await this.stop())
        return
      case 'knock':
        return this.tell({ kind: 'alive' })
      case 'question':
        return this.answer(message.id, message.question)
      case 'answer':
        this.asked.get(message.id)?.(message.answer)
        this.asked.delete(message.id)
    }
  }

  private async boot(orders: Orders, quiet: boolean, end: (code: number) => void): Promise<void> {
    const released = new Promise<void>((open) => {
      this.open = open
    })
    const started = async (): Promise<void> => {
      await this.tell({ kind: 'started' })
      await released
    }
    try {
      this.running = await serve(...this.servingOf(orders, quiet, started))
      await this.tell({ kind: 'ready', addresses: this.running.addresses })
    } catch (error) {
      if (this.ending.signal.aborted) return
      await this.tell({ kind: 'failed', failure: failureOf(error, this.scrubber) })
      end(exitCode.failed)
    }
  }

  private async swap(orders: Orders, quiet: boolean): Promise<void> {
    try {
      if (this.running === undefined) throw new Error('there is no list to exchange')
      await this.running.swap(...this.servingOf(orders, quiet, async () => {}))
      await this.tell({ kind: 'swapped', addresses: this.running.addresses })
    } catch (error) {
      await this.tell({ kind: 'failed', failure: failureOf(error, this.scrubber) })
    }
  }

  /** Takes nothing new, and answers what is in flight. */
  private async stop(): Promise<number> {
    if (!this.ending.signal.aborted) this.ending.abort(new Error('the gateway was stopped'))
    if (this.running === undefined) await this.busy
    await this.running?.stop()
    return exitCode.asked
  }

  private servingOf(
    { list, folder, secrets }: Orders,
    quiet: boolean,
    started: () => Promise<void>,
  ): [List, ServeContext] {
    for (const secret of secrets) this.scrubber.add(secret)
    const boot = ++this.boots
    let starting = true
    const parts = inWorker(
      {
        boot,
        started,
        ask: (question) => this.ask(question),
        farewell: (answer) => void this.tell({ kind: 'farewell', answer }),
        opened: (answer) => {
          starting = false
          this.answering = answer
        },
      },
      list,
    )
    const { signal } = this.ending
    const log = this.log(() => quiet && starting)
    return [parts, { catalogue, folder, log, scrubber: this.scrubber, signal }]
  }

  private async answer(id: number, question: Question): Promise<void> {
    const answer = await this.answering(question).catch(() => NOT_YET)
    await this.tell({ kind: 'answer', id, answer })
  }

  private ask(question: Question): Promise<Answer> {
    const id = this.questions++
    return new Promise((resolve) => {
      this.asked.set(id, resolve)
      if (process.connected) void this.tell({ kind: 'question', id, question })
      else resolve(NOT_YET)
    })
  }

  private log(muted: false | (() => boolean)) {
    const level = this.debug ? 'debug' : 'info'
    const { scrubber, number: worker } = this
    return createLog({ level, scrubber, ...(muted !== false && { muted }) }).child({ worker })
  }

  /** Settles when the message is on its way. A primary that is gone is heard of by the end of the channel. */
  private tell(message: ToPrimary): Promise<void> {
    return new Promise((resolve) => {
      if (process.send === undefined) resolve()
      else process.send(message, undefined, {}, () => resolve())
    })
  }
}

const NOT_YET: OwnAnswer = {
  status: 503,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify({ error: 'service not ready', checks: { gateway: { status: 'down' } } }),
  boot: 0,
}
