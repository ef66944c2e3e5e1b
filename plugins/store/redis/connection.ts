import type { Redis } from 'ioredis'
import { ConfigError, GatewayError, type HealthState, type Log, type Meter } from 'sallyport'
import { within } from 'sallyport/toolkit'
import { type AddressContext, RedisAddress, type RedisOptions } from './address.js'
import {
  CONNECT_LIMIT,
  closeClient,
  type Driver,
  loadDriver,
  openClient,
  tooSlow,
  tryWrite,
} from './client.js'
import { CLOSED, isPassing, isWriteRefusal, reasonOf, refused, replyCode, unavailable } from './failure.js'

/** Milliseconds that a caller waits at most, with all attempts. */
export const READ_LIMIT = 2_000
export const WRITE_LIMIT = 10_000

const LONGEST_PAUSE = 3_000
const HEARTBEAT = 3_000

interface Options extends RedisOptions {
  /** The prefix of all keys. */
  readonly prefix: string
}

interface Context extends AddressContext {
  /** The name of the plugin in metrics. */
  readonly id: string
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly meter: Meter
}

/** Checks each new connection before use; throws an error with the reason against it. */
type Admit = (client: Redis) => Promise<void>

/**
 * Redis for plugins: one connection, reopened for ever. Every wait is bounded; while Redis is away, calls fail with an
 * `UpstreamError` of 503. `open` does not use the network; `start` belongs into `onStart`, `close` into `onStop`.
 */
export class RedisConnection {
  /**
   * The connection while it is open. Errors of its commands hold their arguments: they go to `failed` and no further.
   */
  client: Redis | undefined
  private trouble: string | undefined
  private wasConnected = false
  private isClosed = false
  private attempts = 0
  private timer: NodeJS.Timeout | undefined
  private opening: Promise<unknown> | undefined
  private readonly waiting = new Set<() => void>()
  private readonly closing = new Set<Promise<void>>()
  private readonly heartbeat: NodeJS.Timeout
  private readonly lost
  private readonly connections

  static async open(options: Options, context: Context, admit?: Admit): Promise<RedisConnection> {
    const writes = new WriteHealth(options.prefix, context.log)
    return new RedisConnection(await loadDriver(), new RedisAddress(options, context), writes, context, admit)
  }

  private constructor(
    private readonly driver: Driver,
    private readonly address: RedisAddress,
    private readonly writes: WriteHealth,
    private readonly context: Context,
    private readonly admit: Admit = async () => {},
  ) {
    const { id, meter } = context
    const labels = { plugin: id }
    const connections = meter.gauge('redis_connections', 'Connections to Redis that can be used', ['plugin'])
    const lost = meter.counter(
      'redis_connections_lost_total',
      'Connections to Redis that ended unexpectedly',
      ['plugin'],
    )
    this.connections = (count: number): void => connections(count, labels)
    this.lost = (): void => lost(1, labels)
    // Finds a server that is silent or refuses writes before a caller needs it.
    this.heartbeat = setInterval(() => void this.beat(), HEARTBEAT).unref()
  }

  /** Settles when the first attempt is over. Throws a `ConfigError` of `admit`; retries after any other error. */
  async start(): Promise<void> {
    const failure = await this.connect()
    if (failure instanceof ConfigError) throw failure
  }

  async close(): Promise<void> {
    this.isClosed = true
    clearInterval(this.heartbeat)
    clearTimeout(this.timer)
    this.drop()
    this.wake()
    await this.opening
    await Promise.all(this.closing)
    this.address.close()
  }

  health(): HealthState {
    if (this.client !== undefined)
      return this.writes.refusal === undefined
        ? { status: 'ok' }
        : { status: 'degraded', reason: `it refused the last write: ${this.writes.refusal}` }
    return { status: this.wasConnected ? 'degraded' : 'down', reason: this.reason }
  }

  /** Runs commands, and once more when their connection was lost: running them twice must do no harm. */
  async run<T>(work: (client: Redis) => Promise<T>, limit = READ_LIMIT): Promise<T> {
    const end = performance.now() + limit
    for (;;) {
      const client = await this.connected(end)
      try {
        const limit = Math.min(READ_LIMIT, Math.max(1, end - performance.now()))
        const result = await within(limit, work(client), tooSlow)
        this.worked(client)
        return result
      } catch (error) {
        if (error instanceof GatewayError) throw error
        this.failed(client, error)
        if (this.client === client || performance.now() >= end) throw refused(error)
      }
    }
  }

  /**
   * Call it after a reply to a command. A connection is not enough: some servers accept it, and refuse the first
   * command.
   */
  worked(client: Redis): void {
    if (this.client !== client) return
    this.attempts = 0
    if (this.trouble !== undefined) this.context.log.info('Redis can be used again')
    this.trouble = undefined
  }

  /** Call it after a failed command. Drops the connection unless the server refused only this command. */
  failed(client: Redis, error: unknown): void {
    if (this.client !== client) return
    this.writes.failed(error)
    if (replyCode(error) !== undefined && !isPassing(error)) return
    this.drop()
    if (this.isClosed) return
    this.lost()
    this.report(reasonOf(error))
    this.connectLater()
  }

  private get reason(): string {
    return this.trouble ?? 'it has not answered yet'
  }

  private async beat(): Promise<void> {
    const { client } = this
    if (client === undefined) return
    try {
      await within(READ_LIMIT, this.writes.try(client), tooSlow)
      this.worked(client)
    } catch (error) {
      this.failed(client, error)
    }
  }

  private async connected(end: number): Promise<Redis> {
    while (this.client === undefined) {
      const rest = end - performance.now()
      if (this.isClosed || rest <= 0) throw unavailable(this.reason)
      await this.nextConnection(rest)
    }
    return this.client
  }

  private nextConnection(limit: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer)
        this.waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, limit)
      this.waiting.add(done)
    })
  }

  private wake(): void {
    for (const done of this.waiting) done()
  }

  /** Makes one attempt, and schedules the next one after a failure. Returns the reason of the failure. */
  private async connect(): Promise<unknown> {
    const attempt = this.attempt().then(
      () => undefined,
      (error: unknown) => error,
    )
    this.opening = attempt
    const failure = await attempt
    if (failure !== undefined && !this.isClosed) {
      this.report(failure instanceof GatewayError ? failure.message : reasonOf(failure))
      this.connectLater()
    }
    return failure
  }

  private async attempt(): Promise<void> {
    const client = await openClient(this.driver, this.address.settings())
    try {
      await within(CONNECT_LIMIT, this.admit(client), tooSlow)
      await within(CONNECT_LIMIT, this.writes.admit(client), tooSlow)
      if (this.isClosed || client.status !== 'ready') throw new Error(CLOSED)
    } catch (error) {
      this.discard(client)
      throw error
    }
    client.once('end', () => this.failed(client, new Error(CLOSED)))
    this.client = client
    this.connections(1)
    this.wasConnected = true
    this.wake()
  }

  private connectLater(): void {
    // Doubled up to the longest delay, with jitter: all replicas lose the server at once.
    const pause = Math.min(LONGEST_PAUSE, 50 * 2 ** Math.min(this.attempts++, 10))
    this.timer = setTimeout(() => void this.connect(), pause * (0.5 + Math.random() / 2))
  }

  private drop(): void {
    const { client } = this
    this.client = undefined
    if (client === undefined) return
    this.connections(0)
    this.discard(client)
  }

  private discard(client: Redis): void {
    const closed = closeClient(client).finally(() => this.closing.delete(closed))
    this.closing.add(closed)
  }

  private report(reason: string): void {
    if (reason === this.trouble) return
    this.trouble = reason
    this.context.log.warn({ reason }, 'Redis cannot be used; the gateway retries')
  }
}

/** Knows whether the server accepts writes: a server that answers only reads looks healthy. */
class WriteHealth {
  /** Why the server refused the last write, until it accepts one. */
  refusal: string | undefined

  constructor(
    private readonly prefix: string,
    private readonly log: Pick<Log, 'info' | 'warn'>,
  ) {}

  /** Writes a probe value; throws when the server refuses it. */
  async try(client: Redis): Promise<void> {
    await tryWrite(client, this.prefix)
    if (this.refusal !== undefined) this.log.info('Redis accepts writes again')
    this.refusal = undefined
  }

  /** Throws only when another connection may do better, such as one to the new primary; else reads still work here. */
  async admit(client: Redis): Promise<void> {
    try {
      await this.try(client)
    } catch (error) {
      this.failed(error)
      if (!isWriteRefusal(error) || isPassing(error)) throw error
    }
  }

  failed(error: unknown): void {
    const reason = reasonOf(error)
    if (!isWriteRefusal(error) || this.refusal === reason) return
    this.refusal = reason
    this.log.warn({ reason }, 'Redis refuses writes; the gateway retries')
  }
}
