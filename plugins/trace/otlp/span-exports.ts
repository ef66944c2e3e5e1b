import { type Agent, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent, type RequestOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Gateway } from 'sallyport'
import { failureCode, LogThrottle, type WatchedFile } from 'sallyport/toolkit'
import type { Packages } from './packages.js'

/** Spans that wait, and those that are sent at once: the SDK's own numbers. */
const MAX_WAITING = 2_048
const MAX_BATCH = 512
const DELAY = 5_000
/** Milliseconds that an export may take, with all of its attempts. */
const LIMIT = 5_000
/** A stop takes as long at most: others wait for it. */
const STOP_LIMIT = 1_500
/** At a stop all that waits is sent at once, beside what is being sent. */
const MAX_EXPORTS = MAX_WAITING / MAX_BATCH + 1

export interface Destination {
  readonly url: string
  readonly headers: () => Readonly<Record<string, string>>
  /** PEM certificates to trust in place of Node's. */
  readonly certificates: WatchedFile | undefined
}

type Done = Parameters<SpanExporter['export']>[1]
type Result = Parameters<Done>[0]
/** The enumeration of these is in a package that is not asked for. */
const SUCCESS = 0
const FAILED = 1

/**
 * Sends spans in batches, and counts those that are lost. The SDK has the queue, the serializer and further attempts. But it
 * drops in silence, waits for an answer as long as any byte comes, and leaves the sockets open.
 */
export class SpanExports implements SpanExporter {
  private waiting = 0
  private cutAt = 0
  private isClosed = false
  private limit = LIMIT
  private readonly running = new Set<Promise<void>>()
  private readonly unanswered = new Set<Done>()
  private readonly agent: Agent
  private exporter: SpanExporter
  private readonly processor
  private readonly throttle: LogThrottle
  private readonly countLost

  constructor(
    private readonly packages: Pick<Packages, 'sdk' | 'exporter'>,
    private readonly destination: Destination,
    private readonly context: Pick<Gateway, 'id' | 'log' | 'meter'>,
  ) {
    this.agent = collectorAgent(destination.url, destination.certificates)
    this.exporter = this.exporterWithin(LIMIT)
    this.processor = new packages.sdk.BatchSpanProcessor(this, {
      maxQueueSize: MAX_WAITING,
      maxExportBatchSize: MAX_BATCH,
      scheduledDelayMillis: DELAY,
      // Never reached: each export has ended by then.
      exportTimeoutMillis: 2 * LIMIT,
    })
    this.throttle = new LogThrottle(context.log)
    this.countLost = context.meter.counter(
      'trace_lost_total',
      'Spans that were not exported: the queue was full, or the collector did not take them',
      ['plugin', 'reason'],
    )
  }

  /** The span is made only when there is room for it. */
  add(make: () => ReadableSpan): void {
    if (this.waiting < MAX_WAITING) {
      this.waiting++
      this.processor.onEnd(make())
    } else this.lose(1, QUEUE_FULL)
  }

  /** Called by the SDK, with each batch. */
  export(spans: ReadableSpan[], done: Done): void {
    this.waiting -= spans.length
    const sending = this.send(spans, done)
    this.running.add(sending)
    void sending.finally(() => this.running.delete(sending))
  }

  /** The exporter has nothing to shut down; it would wait for its attempts. */
  async shutdown(): Promise<void> {}

  /** The series are there before anything is lost. */
  open(): void {
    for (const reason of ['queue_full', 'not_taken']) this.countLost(0, { plugin: this.context.id, reason })
  }

  /** Sends what waits. No socket is open any more afterwards. */
  async close(): Promise<void> {
    this.limit = STOP_LIMIT
    this.exporter = this.exporterWithin(STOP_LIMIT)
    const timer = setTimeout(() => this.giveUp(), STOP_LIMIT)
    // It rejects with the first batch that could not be sent, which was counted.
    await this.processor.shutdown().catch(() => {})
    await Promise.all(this.running)
    clearTimeout(timer)
    this.isClosed = true
    this.agent.destroy()
    this.throttle.flush()
  }

  private exporterWithin(timeoutMillis: number): SpanExporter {
    const { packages, destination } = this
    // What is given here is not read from OTEL_* variables.
    return new packages.exporter.OTLPTraceExporter({
      url: destination.url,
      headers: async () => {
        // Asked before each attempt, also one that was due when the stop gave up.
        if (this.isClosed) throw new Error('the exports have ended')
        return { ...destination.headers() }
      },
      timeoutMillis,
      concurrencyLimit: MAX_EXPORTS,
      httpAgentOptions: () => this.agent,
    })
  }

  private async send(spans: ReadableSpan[], done: Done): Promise<void> {
    const begun = performance.now()
    const timer = setTimeout(() => this.cut(), this.limit)
    const result = await new Promise<Result>((resolve) => {
      const answered: Done = (answer) => {
        this.unanswered.delete(answered)
        resolve(answer)
      }
      this.unanswered.add(answered)
      this.exporter.export(spans, answered)
    })
    clearTimeout(timer)
    if (result.code !== SUCCESS) {
      const failure = this.cutAt > begun ? 'EGRESS_TIMEOUT' : failureOf(result.error)
      this.lose(spans.length, { reason: 'not_taken', failure })
    }
    done(result)
  }

  /** With every socket the attempt of the export that is late has ended, and it was the last: no time is left. */
  private cut(): void {
    this.cutAt = performance.now()
    this.agent.destroy()
  }

  /** Of what still runs, also what waits for its next attempt. */
  private giveUp(): void {
    this.cut()
    for (const answered of this.unanswered) answered({ code: FAILED })
  }

  private lose(count: number, why: Loss): void {
    const { id, log } = this.context
    this.countLost(count, { plugin: id, reason: why.reason })
    this.throttle.write(log, 'warn', 'spans were not exported', { ...why }, { count })
  }
}

interface Loss {
  readonly reason: 'queue_full' | 'not_taken'
  readonly failure?: string
}

const QUEUE_FULL: Loss = { reason: 'queue_full' }

/** A class of failure. The message may hold what the collector answered. */
function failureOf(error: Error | undefined): string {
  if (error !== undefined && 'code' in error && typeof error.code === 'number') return `HTTP_${error.code}`
  return failureCode(error)
}

/** Keeps connections to the collector. It trusts `certificates` in place of Node's, as the file is at the time. */
export function collectorAgent(url: string, certificates?: WatchedFile): HttpAgent {
  const keepAlive = true
  if (new URL(url).protocol !== 'https:') return new HttpAgent({ keepAlive })
  return certificates === undefined ? new HttpsAgent({ keepAlive }) : new WatchingAgent(certificates)
}

/** The exporter asks for an agent once, and an agent for its certificates: so each connection gets those of the file. */
class WatchingAgent extends HttpsAgent {
  private trusted = new WeakSet<Duplex>()

  constructor(private readonly certificates: WatchedFile) {
    // A session that is resumed is trusted as it was when it began.
    super({ keepAlive: true, maxCachedSessions: 0 })
    certificates.onChange(() => this.retire())
  }

  override createConnection(options: RequestOptions, callback?: (error: Error | null, made: Duplex) => void) {
    const connection = super.createConnection({ ...options, ca: this.certificates.text }, callback)
    if (connection) this.trusted.add(connection)
    return connection
  }

  override keepSocketAlive(socket: Duplex) {
    return this.trusted.has(socket) && super.keepSocketAlive(socket)
  }

  /** What is being sent goes on, and is the last on its connection. */
  private retire(): void {
    this.trusted = new WeakSet()
    for (const sockets of Object.values(this.freeSockets))
      for (const socket of sockets ?? []) socket.destroy()
  }
}
