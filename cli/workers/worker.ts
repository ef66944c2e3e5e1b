import cluster, { type Worker } from 'node:cluster'
import { randomUUID } from 'node:crypto'
import type { FastifyRequest, InjectOptions } from 'fastify'
import { type Addresses, definePlugin, type List, type Plugin } from 'sallyport'
import { catalogue } from 'sallyport/builtin'
import {
  createLog,
  type GatewayServer,
  type LogOptions,
  LogScrubber,
  StderrLines,
  serve,
} from 'sallyport/embed'
import { guardProcess } from '../signals.js'
import { exitCode } from '../terminal.js'
import { Channel } from './channel.js'

/** A list, with the data that a worker needs to serve it. It may hold secrets. */
export interface WorkerConfig {
  readonly list: List
  readonly folder: string
  readonly secrets: ReadonlySet<string>
  /** The key with which all workers sign. */
  readonly key: Uint8Array
}

/** A request on the internal port. */
export interface InternalRequest extends Pick<InjectOptions, 'method' | 'headers' | 'payload'> {
  readonly url: string
}

export interface InternalResponse {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>
  readonly body: string
}

interface Load extends WorkerConfig {
  /** The worker logs only errors until it serves: another worker logs the rest. */
  readonly quiet: boolean
  /** The number of restarts of this worker. */
  readonly restarts: number
}

export interface PrimaryCalls {
  /** The first message of the worker: from now on it receives calls. */
  online(): Promise<void>
  /** The worker has started its plugins. Resolves when it may open the ports. */
  started(): Promise<void>
  /** Sends a request to all workers, and returns their merged response. */
  request(request: InternalRequest): Promise<InternalResponse>
}

export type WorkerCalls = Pick<WorkerProcess, 'load' | 'stop' | 'ping' | 'request'>

/** Runs one of several processes on a port. The primary process controls it, and it ends with the primary. */
export function runWorker(number: number, options: WorkerLog): Promise<number> {
  const { worker } = cluster
  if (worker === undefined) throw new Error('no primary process has started this worker')
  return new Promise((end) => new WorkerProcess(worker, number, options, end))
}

type WorkerLog = Pick<LogOptions, 'level' | 'pretty'>

class WorkerProcess {
  /** Sends a request to the internal port of the list that is served. */
  request: PrimaryCalls['request'] = () => Promise.reject(new Error('nothing is served'))
  private readonly scrubber = new LogScrubber()
  private readonly stderr: StderrLines
  private readonly ending = new AbortController()
  private readonly primary: Channel<PrimaryCalls, WorkerCalls>
  private server: GatewayServer | undefined
  private loading: Promise<unknown> = Promise.resolve()

  constructor(
    worker: Worker,
    private readonly number: number,
    private readonly options: WorkerLog,
    private readonly end: (code: number) => void,
  ) {
    this.stderr = new StderrLines(options.pretty)
    // A terminal sends these signals to the whole process group; the primary process stops the workers.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
    const log = this.log(() => false)
    guardProcess(log)
    this.primary = new Channel<PrimaryCalls, WorkerCalls>(worker, this, this.scrubber)
    void this.primary.call('online', undefined)
  }

  /** Serves a list instead of the previous one. If that fails, the previous list goes on. */
  load(config: Load): Promise<Addresses> {
    const loaded = this.serveList(config)
    this.loading = loaded.catch(() => {})
    return loaded
  }

  /** Drains, and ends the process. */
  async stop(drainDelay: number | undefined): Promise<void> {
    this.ending.abort(new Error('the gateway was stopped'))
    if (this.server === undefined) await this.loading
    await this.server?.stop(undefined, drainDelay)
    this.end(exitCode.ok)
  }

  async ping(): Promise<void> {}

  private async serveList({ list, folder, secrets, key, quiet, restarts }: Load): Promise<Addresses> {
    for (const secret of secrets) this.scrubber.add(secret)
    let starting = true
    const log = this.log(() => quiet && starting)
    const { scrubber } = this
    const context = { catalogue, folder, log, scrubber, signal: this.ending.signal, key }
    const withOwn = [...list, { use: this.internalPort(restarts) }]
    if (this.server === undefined) this.server = await serve(withOwn, context)
    else await this.server.swap(withOwn, context)
    starting = false
    return this.server.addresses
  }

  /** Forwards requests on the internal port to all workers, so that the response describes all of them. */
  private internalPort(restarts: number): Plugin {
    return definePlugin({
      name: 'workers/internal',
      api: 1,
      setup: (gateway) => {
        const { internal, meter } = gateway
        const restarted = meter.counter('worker_restarts_total', 'Workers that died and were started again')
        // Only this process knows the value: no client can bypass the merge and read one worker alone.
        const own = { [FROM_PRIMARY]: randomUUID() }
        internal.addHook(
          'preHandler',
          async (request: FastifyRequest<{ Body: InternalRequest['payload'] }>, reply) => {
            if (request.headers[FROM_PRIMARY] === own[FROM_PRIMARY]) return
            const { method, url, body: payload } = request
            // Fastify has parsed the payload; its new text may have another length.
            const { 'content-length': _, ...headers } = request.headers
            const response = await this.primary.call('request', { method, url, headers, payload })
            await reply.code(response.statusCode).headers(response.headers).send(response.body)
          },
        )
        gateway.onStart(() => this.primary.call('started', undefined))
        gateway.onReady(() => {
          if (this.server === undefined) restarted(restarts)
          this.request = async (request) => {
            const injected = { ...request, headers: { ...request.headers, ...own } }
            const { statusCode, headers: all, body } = await internal.inject(injected)
            const { connection: _, ...headers } = all
            return { statusCode, headers, body }
          }
        })
      },
    })
  }

  private log(muted: () => boolean) {
    const { options, scrubber, stderr, number: worker } = this
    return createLog({ ...options, scrubber, stderr, muted }).child({ worker })
  }
}

const FROM_PRIMARY = 'x-sallyport-worker'
