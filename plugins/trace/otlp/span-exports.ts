import { type Agent, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent, type RequestOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Gateway } from 'sallyport'
import { failureCode, LogThrottle, type WatchedFile } from 'sallyport/toolkit'
import type { Packages } from './packages.js'

/** The most spans that wait, and the most in one export: the SDK's defaults. */
const MAX_WAITING = 2_048
const MAX_BATCH = 512
const DELAY = 5_000
/** Milliseconds that an export may take, with all its attempts. */
const LIMIT = 5_000
/** Milliseconds that a stop may take: other plugins wait for it. */
const STOP_LIMIT = 1_500
/** A stop sends all waiting batches at once, beside the export that runs. */
const MAX_EXPORTS = MAX_WAITING / MAX_BATCH + 1

export interface Destination {
  readonly url: string
  readonly headers: () => Readonly<Record<string, string>>
  /** PEM certificates to trust instead of Node's. */
  readonly certificates: WatchedFile | undefined
}

type Done = Parameters<SpanExporter['export']>[1]
type Result = Parameters<Done>[0]
/** `ExportResultCode`, whose package is not among the required ones. */
const SUCCESS = 0
const FAILED = 1

/**
 * Sends spans in batches, and counts lost ones. The SDK provides the queue, the serializer and further attempts. But it
 * drops spans silently, waits for a response as long as any byte comes, and leaves sockets open.
 */
export class SpanExports implements SpanExporter {
  private waiting = 0
  private destroyedAt = 0
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

  /** Makes the span only if the queue has room. */
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

  /** Does nothing: the exporter's own `shutdown` would wait for its attempts. */
  async shutdown(): Promise<void> {}

  /** Begins both series at 0, before any loss. */
  open(): void {
    for (const reason of ['queue_full', 'not_taken']) this.countLost(0, { plugin: this.context.id, reason })
  }

  /** Sends the waiting spans, and closes all sockets. */
  async close(): Promise<void> {
    this.limit = STOP_LIMIT
    this.exporter = this.exporterWithin(STOP_LIMIT)
    const timer = setTimeout(() => this.abandonAll(), STOP_LIMIT)
    // Rejects with the first batch that failed, which is counted already.
    await this.processor.shutdown().catch(() => {})
    await Promise.all(this.running)
    clearTimeout(timer)
    this.isClosed = true
    this.agent.destroy()
    this.throttle.flush()
  }

  private exporterWithin(timeoutMillis: number): SpanExporter {
    const { packages, destination } = this
    // Options that are set here override OTEL_* variables.
    return new packages.exporter.OTLPTraceExporter({
      url: destination.url,
      headers: async () => {
        // Called before each attempt, also one that was due when the stop abandoned it.
        if (this.isClosed) throw new Error('the exports have ended')
        return { ...destination.headers() }
      },
      timeoutMillis,
      concurrencyLimit: MAX_EXPORTS,
      httpAgentOptions: () => this.agent,
    })
  }

  private async send(spans: ReadableSpan[], done: Done): Promise<void> {
    const startedAt = performance.now()
    const timer = setTimeout(() => this.destroySockets(), this.limit)
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
      const failure = this.destroyedAt > startedAt ? 'EGRESS_TIMEOUT' : failureOf(result.error)
      this.lose(spans.length, { reason: 'not_taken', failure })
    }
    done(result)
  }

  /** Ends the attempt of a late export. It was the last one, since its time is over. */
  private destroySockets(): void {
    this.destroyedAt = performance.now()
    this.agent.destroy()
  }

  /** Ends all exports, also those that wait for their next attempt. */
  private abandonAll(): void {
    this.destroySockets()
    for (const answered of this.unanswered) answered({ code: FAILED })
  }

  private lose(count: number, loss: Loss): void {
    const { id, log } = this.context
    this.countLost(count, { plugin: id, reason: loss.reason })
    this.throttle.write(log, 'warn', 'spans were not exported', { ...loss }, { count })
  }
}

interface Loss {
  readonly reason: 'queue_full' | 'not_taken'
  readonly failure?: string
}

const QUEUE_FULL: Loss = { reason: 'queue_full' }

/** A class of failure, and not the message, which may quote the collector's response. */
function failureOf(error: Error | undefined): string {
  if (error !== undefined && 'code' in error && typeof error.code === 'number') return `HTTP_${error.code}`
  return failureCode(error)
}

/** Keeps connections to the collector. It trusts the current text of `certificates` instead of Node's. */
export function collectorAgent(url: string, certificates?: WatchedFile): HttpAgent {
  const keepAlive = true
  if (new URL(url).protocol !== 'https:') return new HttpAgent({ keepAlive })
  return certificates === undefined ? new HttpsAgent({ keepAlive }) : new ReloadingAgent(certificates)
}

/**
 * Gives each connection the current certificates: the exporter asks for an agent once, and an agent for its options.
 */
class ReloadingAgent extends HttpsAgent {
  private trusted = new WeakSet<Duplex>()

  constructor(private readonly certificates: WatchedFile) {
    // A resumed TLS session would keep the trust of its first handshake.
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

  /** A running export goes on, as the last one on its connection. */
  private retire(): void {
    this.trusted = new WeakSet()
    for (const sockets of Object.values(this.freeSockets))
      for (const socket of sockets ?? []) socket.destroy()
  }
}
