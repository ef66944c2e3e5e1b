import type { IncomingMessage } from 'node:http'
import { EventStreamParser, type ParsedEvent } from 'sallyport/toolkit'
import type { Call } from './call.js'
import { bodyOf, type HttpLink, isEvents } from './http-link.js'
import { readEvents } from './reader.js'
import { errorIn, refusalError } from './refusal.js'
import { type SendProgress, type Transport, type TransportContext, unavailable } from './transport.js'

const ENDPOINT_LIMIT = 10_000

interface Connection {
  readonly endpoint: string
  lost: boolean
}

/**
 * The HTTP+SSE transport of 2024-11-05: one event stream for all messages of the target, and an endpoint to post to.
 */
export class LegacySse implements Transport {
  session: object = {}
  private connection: Promise<Connection | undefined> | undefined
  private readonly calls = new Set<Call>()
  private readonly onPosted = new WeakMap<Call, () => void>()

  constructor(
    private readonly link: HttpLink,
    private readonly target: URL,
    private readonly context: TransportContext,
  ) {}

  /** Whether the target supports this transport. */
  async connect(): Promise<boolean> {
    this.connection ??= this.openConnection()
    return (await this.connection) !== undefined
  }

  send(call: Call): SendProgress {
    const done = this.handle(call)
    const posted = Promise.race([done, this.posted(call)])
    return { flushed: posted, accepted: posted, done }
  }

  async close(): Promise<void> {}

  private posted(call: Call): Promise<void> {
    return new Promise((resolve) => this.onPosted.set(call, resolve))
  }

  private async handle(call: Call): Promise<void> {
    try {
      if (call.method === 'initialize' && call.isInternal) this.connection = this.openConnection()
      let connection = await this.connection
      if (connection === undefined || connection.lost) {
        const renewed = !call.isInternal && (await this.context.renewSession(this.session))
        connection = renewed ? await this.connection : undefined
      }
      if (connection === undefined)
        await this.context.fail(call, unavailable('the event stream of the target has ended'))
      else await this.post(call, connection)
    } catch (error) {
      if (call.signal.aborted) return
      this.context.log.debug({ err: error }, 'a request to the gateway failed')
      await this.context.fail(call, unavailable('the connection to the target broke off'))
    }
  }

  private async post(call: Call, { endpoint }: Connection): Promise<void> {
    this.calls.add(call)
    try {
      const signal = AbortSignal.any([this.context.ending, call.signal])
      const headers = { 'content-type': 'application/json' }
      const body = call.message.bytes
      const head = await this.link.send({ method: 'POST', path: endpoint, headers, body, signal }).response
      const { statusCode: status = 0 } = head
      if (status < 300) head.resume()
      else {
        const error = errorIn(await bodyOf(head, this.context.maxMessage))
        await this.context.fail(call, refusalError(status, error))
      }
      this.onPosted.get(call)?.()
      await closedOrAborted(call, signal)
    } finally {
      this.calls.delete(call)
    }
  }

  private async openConnection(): Promise<Connection | undefined> {
    const { pathname, search } = this.target
    const headers = { accept: 'text/event-stream' }
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(new Error('no endpoint came')), ENDPOINT_LIMIT)
    try {
      const signal = AbortSignal.any([this.context.ending, timeout.signal])
      const stream = await this.link.send({ method: 'GET', path: pathname + search, headers, signal })
        .response
      if (stream.statusCode === 200 && isEvents(stream)) return await this.endpointIn(stream)
      stream.destroy()
      return undefined
    } catch {
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  private endpointIn(stream: IncomingMessage): Promise<Connection | undefined> {
    return new Promise((resolve) => void this.readAll(stream, resolve).finally(() => resolve(undefined)))
  }

  private async readAll(stream: IncomingMessage, onOpen: (connection: Connection) => void): Promise<void> {
    const { log, maxMessage } = this.context
    const opened: Connection[] = []
    const open = ({ name, data }: ParsedEvent): void => {
      if (name !== 'endpoint' || opened.length > 0) return
      const connection = { endpoint: this.endpointOf(data.toString()), lost: false }
      opened.push(connection)
      this.session = connection
      onOpen(connection)
    }
    const events = new EventStreamParser(maxMessage)
    await readEvents(stream, events, (message) => this.context.receive(message), log, open)
    for (const connection of opened) await this.onLost(connection)
  }

  /** The target may choose a path, but no other host: requests there carry its credential. */
  private endpointOf(text: string): string {
    const url = URL.canParse(text, this.target.href) ? new URL(text, this.target) : undefined
    if (url?.origin === this.target.origin) return url.pathname + url.search
    this.context.log.error('the target named an endpoint on another origin; the bridge sends nothing there')
    throw new Error('no endpoint')
  }

  private async onLost(connection: Connection): Promise<void> {
    connection.lost = true
    if (this.context.ending.aborted) return
    for (const call of this.calls) {
      await this.context.fail(
        call,
        unavailable('the event stream of the target ended before the response was there'),
      )
    }
  }
}

/** Removes its listener: the source of the signal lives as long as the conversation. */
const closedOrAborted = ({ closed }: Call, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    if (signal.aborted) end()
    signal.addEventListener('abort', end)
    void closed.then(end)
  })
