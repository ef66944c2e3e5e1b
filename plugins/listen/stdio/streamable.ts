import type { IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { EventStreamParser } from 'sallyport/toolkit'
import type { Call } from './call.js'
import { bodyOf, type HttpLink, isEvents, isJson } from './http-link.js'
import { fieldsOf, isHeaderSafe, type Message, routingHeaders, versionOf } from './messages.js'
import { ParameterHeaders } from './parameters.js'
import { endAfterResponse, passMessage, readEvents } from './reader.js'
import { errorIn, isSessionUnknown, refusalError } from './refusal.js'
import {
  SESSION_ENDED,
  type SendProgress,
  type Transport,
  type TransportContext,
  unavailable,
} from './transport.js'

const ACCEPT = 'application/json, text/event-stream'
// Attempts to resume a response that broke off, without a new event in between.
const MAX_TRIES = 5
const LEGACY_STATUSES: ReadonlySet<number> = new Set([400, 404, 405])
const HEADER_MISMATCH = -32_020

/** The Streamable HTTP transport, with sessions and without. */
export class StreamableHttp implements Transport {
  session: Session = newSession()
  private readonly parameters: ParameterHeaders

  constructor(
    private readonly link: HttpLink,
    private readonly path: string,
    private readonly context: TransportContext,
  ) {
    this.parameters = new ParameterHeaders((request) => context.request(request))
  }

  send(call: Call): SendProgress {
    if (call.method === 'initialize') this.replaceSession()
    const { session } = this
    const { flushed, response } = this.post(call, session)
    const settled = (): void => {}
    return {
      flushed,
      accepted: response.then(settled, settled),
      done: this.handleResponse(call, response, session),
    }
  }

  async close(signal: AbortSignal): Promise<void> {
    const session = this.replaceSession()
    if (session.id === undefined) return
    const headers = this.headers(session)
    const response = await this.link.send({ method: 'DELETE', path: this.path, headers, signal }).response
    response.resume()
  }

  private replaceSession(): Session {
    const { session } = this
    session.replaced.abort(new Error('the session was replaced'))
    this.session = newSession()
    return session
  }

  private post(call: Call, session: Session) {
    const { message } = call
    const version = versionOf(message)
    const headers = {
      ...this.headers(session),
      accept: ACCEPT,
      'content-type': 'application/json',
      ...(version !== undefined && { 'mcp-protocol-version': version, ...this.routing(message) }),
    }
    const signal = AbortSignal.any([this.context.ending, call.signal])
    return this.link.send({ method: 'POST', path: this.path, headers, body: message.bytes, signal })
  }

  private routing(message: Message): Record<string, string> {
    return { ...routingHeaders(message), ...this.parameters.headersFor(message) }
  }

  private headers({ id, version }: Session): Record<string, string> {
    return {
      ...(id !== undefined && { 'mcp-session-id': id }),
      ...(version !== undefined && { 'mcp-protocol-version': version }),
    }
  }

  private async handleResponse(
    call: Call,
    response: Promise<IncomingMessage>,
    session: Session,
  ): Promise<void> {
    try {
      const head = await response
      const { statusCode: status = 0 } = head
      if (status >= 200 && status < 300) await this.readResponse(call, head, session)
      else await this.onRefused(call, head, session)
    } catch (error) {
      if (!call.signal.aborted) await this.onBroken(call, error)
    }
  }

  private async resendInNewSession(call: Call, session: Session): Promise<void> {
    if (!(await this.context.renewSession(session))) {
      await this.context.fail(call, SESSION_ENDED)
      return
    }
    await this.retry(call, this.session)
  }

  private async retry(call: Call, session: Session): Promise<void> {
    const head = await this.post(call, session).response
    const { statusCode: status = 0 } = head
    if (status >= 200 && status < 300) await this.readResponse(call, head, session)
    else await this.fail(call, status, errorIn(await bodyOf(head, this.context.maxMessage)))
  }

  private async onRefused(call: Call, head: IncomingMessage, session: Session): Promise<void> {
    const { statusCode: status = 0 } = head
    const body = await bodyOf(head, this.context.maxMessage)
    if (session.id !== undefined && !call.isInternal && isSessionUnknown(status, body))
      return this.resendInNewSession(call, session)
    const mayBeLegacy = call.method === 'initialize' && !call.isInternal && LEGACY_STATUSES.has(status)
    if (mayBeLegacy && (await this.context.fallBackToLegacy(call))) return
    const error = errorIn(body)
    const mayLackHeaders = error?.code === HEADER_MISMATCH && call.isStateless && call.method === 'tools/call'
    if (mayLackHeaders && (await this.parameters.refresh(call.message))) await this.retry(call, session)
    else await this.fail(call, status, error)
  }

  private fail(call: Call, status: number, error: ReturnType<typeof errorIn>): Promise<void> {
    return this.context.fail(call, refusalError(status, error))
  }

  private async readResponse(call: Call, head: IncomingMessage, session: Session): Promise<void> {
    if (call.method === 'initialize') {
      const id = head.headers['mcp-session-id']
      if (typeof id === 'string') session.id = id
    }
    const { log, maxMessage } = this.context
    if (isEvents(head)) await this.followStream(call, head, session)
    else if (isJson(head)) {
      const body = await bodyOf(head, maxMessage)
      if (body !== undefined && body.length > 0)
        await passMessage(body, (message) => this.receive(call, message, session), log)
    } else head.resume()
    if (call.unanswered.length > 0 && !this.context.ending.aborted) {
      await this.context.fail(
        call,
        unavailable('the target ended its HTTP response before the JSON-RPC response was there'),
      )
    }
    if (call.method === 'notifications/initialized') void this.listenForMessages(session)
  }

  private receive(call: Call, message: Message, session: Session): Promise<void> {
    const isResponse = message.responseIds.some((id) => call.unanswered.includes(id))
    if (isResponse && call.method === 'initialize') {
      const version = agreedVersion(message)
      if (version !== undefined) session.version = version
    }
    if (isResponse && call.isStateless && call.method === 'tools/list') this.parameters.learn(message)
    return this.context.receive(message)
  }

  /** Reads a response that is an event stream, and resumes it after a break. */
  private async followStream(call: Call, head: IncomingMessage, session: Session): Promise<void> {
    const { log, maxMessage, ending } = this.context
    const signal = AbortSignal.any([ending, call.signal])
    const events = new EventStreamParser(maxMessage)
    let stream: IncomingMessage | undefined = head
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const before = events.id
      if (stream !== undefined) {
        endAfterResponse(stream, call)
        await readEvents(stream, events, (message) => this.receive(call, message, session), log)
      }
      if (call.unanswered.length === 0 || events.id === undefined || signal.aborted) return
      if (events.id !== before) tries = 0
      if (!(await pause(tries, events.retry, signal))) return
      const next = await this.openStream(session, events, signal)
      if (typeof next === 'number') return
      stream = next
    }
  }

  /** Reads the stream for the target's own requests and notifications. A target need not have one. */
  private async listenForMessages(session: Session): Promise<void> {
    if (session.listening === true) return
    session.listening = true
    const { log, maxMessage } = this.context
    const signal = AbortSignal.any([this.context.ending, session.replaced.signal])
    const events = new EventStreamParser(maxMessage)
    let opened: number | undefined
    for (let tries = 0; !signal.aborted; tries++) {
      const stream = await this.openStream(session, events, signal)
      if (typeof stream === 'number') {
        // A target without such streams may respond with 404 to the first request.
        if (stream === 404 && opened !== undefined) await this.context.renewSession(session)
        return
      }
      if (stream !== undefined) {
        const before = events.id
        opened = performance.now()
        await readEvents(stream, events, (message) => this.context.receive(message), log)
        if (events.id !== before || performance.now() - opened > STABLE_AFTER) tries = 0
      }
      if (!(await pause(tries, events.retry, signal))) return
    }
  }

  /** The stream, or the status that refuses it; undefined when another try may help. */
  private async openStream(
    session: Session,
    events: EventStreamParser,
    signal: AbortSignal,
  ): Promise<IncomingMessage | number | undefined> {
    const headers = {
      ...this.headers(session),
      accept: 'text/event-stream',
      ...(events.id !== undefined && { 'last-event-id': Buffer.from(events.id).toString('latin1') }),
    }
    try {
      const head = await this.link.send({ method: 'GET', path: this.path, headers, signal }).response
      const { statusCode: status = 0 } = head
      if (status === 200 && isEvents(head)) return head
      head.resume()
      // 409: the target may not have noticed the end of the last stream, and allows one in a session.
      const isTransient = status >= 500 || status === 429 || status === 409
      return isTransient ? undefined : status
    } catch {
      return undefined
    }
  }

  private async onBroken(call: Call, error: unknown): Promise<void> {
    this.context.log.debug({ err: error }, 'a request to the gateway failed')
    await this.context.fail(call, unavailable('the connection to the target broke off'))
  }
}

const agreedVersion = ({ single }: Message): string | undefined => {
  const { protocolVersion } = fieldsOf(single['result'])
  return typeof protocolVersion === 'string' && isHeaderSafe(protocolVersion) ? protocolVersion : undefined
}

// Milliseconds after which the end of a stream does not count as a failed try.
const STABLE_AFTER = 10_000

const FIRST = 1_000
const LONGEST = 30_000

/**
 * Waits before the next attempt, at least as long as the target wants, and longer each time. `false` if it is aborted.
 */
async function pause(tries: number, wanted: number | undefined, signal: AbortSignal): Promise<boolean> {
  const backOff = Math.min(FIRST * 2 ** tries, LONGEST)
  // Otherwise all clients of a restarted server would reconnect at once.
  const jittered = backOff * (0.75 + Math.random() / 2)
  try {
    const wait = tries === 0 ? (wanted ?? jittered) : Math.max(wanted ?? 0, jittered)
    await setTimeout(wait, undefined, { signal })
    return true
  } catch {
    return false
  }
}

/** A session with the target. Versions before 2026-07-28 may give it an id. */
export interface Session {
  id?: string
  version?: string
  listening?: boolean
  /** Aborts the requests and streams of this session when another session replaces it. */
  readonly replaced: AbortController
}

const newSession = (): Session => ({ replaced: new AbortController() })
