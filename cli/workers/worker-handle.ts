import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { type Addresses, GatewayError, type Log } from 'sallyport'
import { RAISE_LIMIT } from '../open-files.js'
import { Channel } from './channel.js'
import type { InternalRequest, InternalResponse, PrimaryCalls, WorkerCalls, WorkerConfig } from './worker.js'
import { workerEnvironment } from './worker-id.js'

const PING_INTERVAL = 3_000
// Counted in pings, not by the clock: after the whole machine slept, no worker has missed more than one ping.
const MAX_MISSED = 4

/** One worker process, seen from the primary process. */
export class WorkerHandle {
  /** The list that the worker serves. */
  config: WorkerConfig | undefined
  /** Resolves with the signal or the exit code of the worker. */
  readonly exited: Promise<string>
  private readonly worker: Worker
  private missed = 0
  private readonly online: Promise<unknown>
  private readonly channel: Channel<WorkerCalls, PrimaryCalls>

  constructor(
    readonly number: number,
    private readonly restarts: number,
    calls: Omit<PrimaryCalls, 'online'>,
    private readonly log: Log,
  ) {
    this.worker = cluster.fork(workerEnvironment(number))
    this.channel = new Channel(this.worker, { ...calls, online: async () => {} })
    this.exited = new Promise((resolve) => {
      this.worker.on('exit', (code, signal) => resolve(signal ?? `code ${code}`))
      // The process could not be started.
      this.worker.on('error', ({ message }) => this.pid === undefined && resolve(message))
    })
    this.replaceOnceLost()
    // A message to the worker before its own first message would be lost.
    this.online = Promise.race([once(this.worker, 'message'), this.exited])
    const timer = setInterval(() => this.ping(), PING_INTERVAL)
    void this.exited.then((end) => {
      clearInterval(timer)
      this.channel.close(new GatewayError('WORKERS_FAILED', `worker ${number} ended (${end})`))
    })
  }

  get pid(): number | undefined {
    return this.worker.process.pid
  }

  async load(config: WorkerConfig, quiet: boolean): Promise<Addresses> {
    await this.online
    const addresses = await this.channel.call('load', { ...config, quiet, restarts: this.restarts })
    this.config = config
    return addresses
  }

  request(request: InternalRequest): Promise<InternalResponse> {
    return this.channel.call('request', request)
  }

  /** Lets the worker drain and end. */
  stop(drainDelay: number | undefined): Promise<string> {
    this.online.then(() => this.channel.call('stop', drainDelay)).catch(() => {})
    return this.exited
  }

  kill(): void {
    this.worker.process.kill('SIGKILL')
  }

  /**
   * Replaces a worker that could open no file for a connection. Node waits forever for its acknowledgement and gives
   * it no more connections; only this undocumented message shows the failure.
   */
  private replaceOnceLost(): void {
    const lost = new Promise<void>((resolve) => {
      this.worker.process.on('internalMessage', ({ cmd }) => cmd === 'NODE_HANDLE_NACK' && resolve())
    })
    void lost.then(() => {
      this.log.error(
        { worker: this.number, pid: this.pid },
        `a worker could open no file for a connection (EMFILE), and is replaced: ${RAISE_LIMIT}`,
      )
      return this.stop(0)
    })
  }

  /** Kills a worker that hangs: Node and the worker's clients would wait for it forever. */
  private ping(): void {
    if (this.config === undefined) return
    if (this.missed++ >= MAX_MISSED) {
      this.log.error({ worker: this.number, pid: this.pid }, 'a worker hangs and is killed')
      this.kill()
    }
    this.channel.call('ping', undefined).then(
      () => {
        this.missed = 0
      },
      () => {},
    )
  }
}
