import cluster from 'node:cluster'
import type { List } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import {
  createLog,
  type GatewayServer,
  type LogOptions,
  LogScrubber,
  type ServeContext,
  StderrLines,
  serve,
} from 'sallyport/embed'
import { exitOnUncaughtError } from '../signals.js'
import { exitCode } from '../terminal.js'
import {
  failureOf,
  type InternalRequest,
  type InternalResponse,
  type ToPrimary,
  type ToWorker,
  type WorkerConfig,
  type WorkerResponse,
} from './messages.js'
import { workerPlugins } from './worker-plugins.js'

/** Runs one of several processes on a port. It does what the primary says, and exits when that is gone. */
export const runWorker = (number: number, options: WorkerLog): Promise<number> =>
  new Worker(number, options).run()

type WorkerLog = Pick<LogOptions, 'level' | 'pretty'>

class Worker {
  private readonly scrubber = new LogScrubber()
  private readonly stderr: StderrLines
  private readonly ending = new AbortController()
  private readonly pending = new Map<number, (response: InternalResponse) => void>()
  private requests = 0
  private boots = 0
  private running: GatewayServer | undefined
  private busy: Promise<void> = Promise.resolve()
  private open: () => void = () => {}
  private respond: (request: InternalRequest) => Promise<WorkerResponse> = async () => NOT_READY

  constructor(
    private readonly number: number,
    private readonly options: WorkerLog,
  ) {
    this.stderr = new StderrLines(options.pretty)
  }

  run(): Promise<number> {
    // A terminal sends them to the whole process group; the primary stops the workers one by one.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
    exitOnUncaughtError(this.log(false))
    return new Promise((end) => {
      // Node would end this process at once, in the middle of responses.
      if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
      process.on('disconnect', () => void this.stop().then(end))
      process.on('message', (message: ToWorker) => void this.receive(message, end))
      void this.send({ kind: 'online' })
    })
  }

  private async receive(message: ToWorker, end: (code: number) => void): Promise<void> {
    switch (message.kind) {
      case 'boot':
        this.busy = this.boot(message.config, message.quiet, end)
        return
      case 'swap':
        this.busy = this.swap(message.config, message.quiet)
        return
      case 'open':
        this.open()
        return
      case 'stop':
        end(await this.stop())
        return
      case 'ping':
        return this.send({ kind: 'pong' })
      case 'request':
        return this.sendResponse(message.id, message.request)
      case 'response':
        this.pending.get(message.id)?.(message.response)
        this.pending.delete(message.id)
    }
  }

  private async boot(config: WorkerConfig, quiet: boolean, end: (code: number) => void): Promise<void> {
    const released = new Promise<void>((open) => {
      this.open = open
    })
    const started = async (): Promise<void> => {
      await this.send({ kind: 'started' })
      await released
    }
    try {
      this.running = await serve(...this.servingOf(config, quiet, started))
      const { addresses, drainDelay } = this.running
      await this.send({ kind: 'ready', addresses, drainDelay })
    } catch (error) {
      if (this.ending.signal.aborted) return
      await this.send({ kind: 'failed', failure: failureOf(error, this.scrubber) })
      end(exitCode.failed)
    }
  }

  private async swap(config: WorkerConfig, quiet: boolean): Promise<void> {
    try {
      if (this.running === undefined) throw new Error('there is no list to swap')
      await this.running.swap(...this.servingOf(config, quiet, async () => {}))
      const { addresses, drainDelay } = this.running
      await this.send({ kind: 'swapped', addresses, drainDelay })
    } catch (error) {
      await this.send({ kind: 'failed', failure: failureOf(error, this.scrubber) })
    }
  }

  /** Accepts nothing new, and answers what is in flight. The drain delay is over: the primary waits for it. */
  private async stop(): Promise<number> {
    if (!this.ending.signal.aborted) this.ending.abort(new Error('the gateway was stopped'))
    if (this.running === undefined) await this.busy
    await this.running?.stop(undefined, 0)
    return exitCode.ok
  }

  private servingOf(
    { list, folder, secrets, key }: WorkerConfig,
    quiet: boolean,
    started: () => Promise<void>,
  ): [List, ServeContext] {
    for (const secret of secrets) this.scrubber.add(secret)
    const boot = ++this.boots
    let starting = true
    const parts = workerPlugins(
      {
        boot,
        started,
        request: (request) => this.request(request),
        finalMetrics: (response) => void this.send({ kind: 'finalMetrics', response }),
        opened: (respond) => {
          starting = false
          this.respond = respond
        },
      },
      list,
    )
    const { signal } = this.ending
    const log = this.log(() => quiet && starting)
    return [parts, { catalogue, folder, log, scrubber: this.scrubber, signal, key }]
  }

  private async sendResponse(id: number, request: InternalRequest): Promise<void> {
    const response = await this.respond(request).catch(() => NOT_READY)
    await this.send({ kind: 'response', id, response })
  }

  private request(request: InternalRequest): Promise<InternalResponse> {
    const id = this.requests++
    return new Promise((resolve) => {
      this.pending.set(id, resolve)
      if (process.connected) void this.send({ kind: 'request', id, request })
      else resolve(NOT_READY)
    })
  }

  private log(muted: false | (() => boolean)) {
    const { options, scrubber, stderr, number: worker } = this
    return createLog({ ...options, scrubber, stderr, ...(muted !== false && { muted }) }).child({ worker })
  }

  /** Resolves when the message is sent. The end of the primary is noticed by the end of the channel. */
  private send(message: ToPrimary): Promise<void> {
    return new Promise((resolve) => {
      if (process.send === undefined) resolve()
      else process.send(message, undefined, {}, () => resolve())
    })
  }
}

const NOT_READY: WorkerResponse = {
  status: 503,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: JSON.stringify({ error: 'service not ready', checks: { gateway: { status: 'down' } } }),
  boot: 0,
}
