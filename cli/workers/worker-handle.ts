import type { Worker } from 'node:cluster'
import type { Addresses } from 'sallyport'
import {
  errorOf,
  type Failure,
  type InternalRequest,
  type InternalResponse,
  type ToPrimary,
  type ToWorker,
  type WorkerConfig,
  type WorkerResponse,
} from './messages.js'

export interface WorkerExit {
  readonly code: number | null
  readonly signal: string | null
}

interface PendingSwap {
  readonly done: (addresses: Addresses) => void
  readonly failed: (error: Error) => void
}

/** One worker process, as the primary sees it. */
export class WorkerHandle {
  stage: 'starting' | 'started' | 'opening' | 'ready' | 'stopping' = 'starting'
  config: WorkerConfig | undefined
  failure: Failure | undefined
  /** Milliseconds that its list goes on accepting when it is asked to stop. */
  drainDelay = 0
  readonly exited: Promise<WorkerExit>
  private pendingSwap: PendingSwap | undefined
  private readonly pending = new Map<number, (response: WorkerResponse | undefined) => void>()
  private requests = 0
  private unansweredPings = 0

  constructor(
    readonly number: number,
    private readonly worker: Worker,
    receive: (message: ToPrimary) => void,
  ) {
    worker.on('message', (message: ToPrimary) => {
      this.unansweredPings = 0
      if ('drainDelay' in message) this.drainDelay = message.drainDelay
      receive(message)
    })
    const drained = new Promise((resolve) => worker.on('disconnect', resolve))
    this.exited = new Promise((resolve) => {
      // Its last messages may still be on their way then.
      worker.on('exit', (code, signal) => void drained.then(() => resolve({ code, signal })))
      // It could not even be started.
      worker.on('error', () => {
        if (worker.process.pid === undefined) resolve({ code: null, signal: null })
      })
    })
    void this.exited.then(() => this.rejectPending())
  }

  get pid(): number | undefined {
    return this.worker.process.pid
  }

  /** Different for every process that was ever started. */
  get id(): number {
    return this.worker.id
  }

  boot(config: WorkerConfig, quiet: boolean): void {
    this.config = config
    this.send({ kind: 'boot', config, quiet })
  }

  open(): void {
    this.stage = 'opening'
    this.send({ kind: 'open' })
  }

  /** Resolves when it has the new list, and the old one has drained. */
  swap(config: WorkerConfig, quiet: boolean): Promise<Addresses> {
    return new Promise((resolve, failed) => {
      const done = (addresses: Addresses): void => {
        this.config = config
        resolve(addresses)
      }
      this.pendingSwap = { done, failed }
      this.send({ kind: 'swap', config, quiet })
    })
  }

  /** Undefined when it exits before it responds, or does not respond within `limit` milliseconds. */
  request(request: InternalRequest, limit: number | undefined): Promise<WorkerResponse | undefined> {
    const id = this.requests++
    return new Promise((resolve) => {
      const timer = limit === undefined ? undefined : setTimeout(() => this.resolve(id, undefined), limit)
      this.pending.set(id, (response) => {
        clearTimeout(timer)
        resolve(response)
      })
      this.send({ kind: 'request', id, request })
    })
  }

  /** Returns how many earlier pings in a row have no answer. */
  ping(): number {
    // Until its first message it cannot receive any.
    if (this.config === undefined) return 0
    this.send({ kind: 'ping' })
    return this.unansweredPings++
  }

  respond(id: number, response: InternalResponse): void {
    this.send({ kind: 'response', id, response })
  }

  /** Handles what concerns this worker alone. */
  receive(message: ToPrimary): void {
    if (message.kind === 'response') this.resolve(message.id, message.response)
    else if (message.kind === 'swapped') this.pendingSwap?.done(message.addresses)
    else if (message.kind === 'failed' && this.stage === 'ready')
      this.pendingSwap?.failed(errorOf(message.failure))
    else if (message.kind === 'failed') this.failure = message.failure
  }

  /** It accepts nothing new, answers what is in flight, and exits. */
  stop(): void {
    // Until its first message it would not receive this one.
    if (this.config === undefined) this.kill()
    else this.send({ kind: 'stop' })
    this.stage = 'stopping'
  }

  kill(): void {
    this.worker.process.kill('SIGKILL')
  }

  private send(message: ToWorker): void {
    // The death of a worker is noticed by its exit.
    this.worker.send(message, () => {})
  }

  private resolve(id: number, response: WorkerResponse | undefined): void {
    this.pending.get(id)?.(response)
    this.pending.delete(id)
  }

  private rejectPending(): void {
    for (const id of [...this.pending.keys()]) this.resolve(id, undefined)
    this.pendingSwap?.failed(new Error(`worker ${this.number} ended meanwhile`))
  }
}
