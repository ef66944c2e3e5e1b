import type { IncomingMessage } from 'node:http'
import type { Call } from './call.js'
import { type Carrier, type Delivery, type Desk, unavailable } from './carrier.js'
import { Events } from './events.js'
import { fieldsOf, isPlain, type Message, routingHeaders, versionOf } from './messages.js'
import { Parameters } from './parameters.js'
import { pause } from './pause.js'
import { readEvents, takeMessage } from './reader.js'
import { errorIn, refusedSentence } from './refusal.js'
import { bodyOf, isEvents, isJson, type Wire } from './wire.js'

const ACCEPT = 'application/json, text/event-stream'
// Tries to take up an answer that broke off, without anything new in between.
const MOST_TRIES = 5
const WANTS_OLDER: ReadonlySet<number> = new Set([400, 404, 405])
const HEADER_MISMATCH = -32_020

/** What the target and the client have agreed on. Until 2026-07-28 it had an id. */
interface Session {
  id?: string
  version?: string
  listening?: boolean
}

/** The Streamable HTTP transport, with sessions and without. */
export class Streamable implements Carrier {
  session: Session = {}
  private readonly parameters: Parameters

  constructor(
    private readonly wire: Wire,
    private readonly path: string,
    private readonly desk: Desk,
  ) {
    this.parameters = new Parameters((request) => desk.ask(request))
  }

  deliver(call: Call): Delivery {
    if (call.method === 'initialize') this.session = {}
    const { session } = this
    const { flushed, answer } = this.post(call, session)
    const settled = (): void => {}
    return { flushed, taken: answer.then(settled, settled), done: this.conclude(call, answer, session) }
  }

  async close(signal: AbortSignal): Promise<void> {
    const { session } = this
    this.session = {}
    if (session.id === undefined) return
    const headers = this.headers(session)
    const answer = await this.wire.send({ method: 'DELETE', path: this.path, headers, signal }).answer
    answer.resume()
  }

  private post(call: Call, session: Session) {
    const { message } = call
    const own = versionOf(message)
    const headers = {
      ...this.headers(session),
      accept: ACCEPT,
      'content-type': 'application/json',
      ...(own !== undefined && { 'mcp-protocol-version': own, ...this.routing(message) }),
    }
    const signal = AbortSignal.any([this.desk.ending, call.signal])
    return this.wire.send({ method: 'POST', path: this.path, headers, body: message.bytes, signal })
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

  private async conclude(call: Call, answer: Promise<IncomingMessage>, session: Session): Promise<void> {
    try {
      const head = await answer
      const { statusCode: status = 0 } = head
      if (status >= 200 && status < 300) await this.read(call, head, session)
      else if (status === 404 && session.id !== undefined && !call.isOurs)
        await this.sendAgain(call, head, session)
      else await this.refused(call, head, session)
    } catch (error) {
      if (!call.signal.aborted) await this.broken(call, error)
    }
  }

  private async sendAgain(call: Call, head: IncomingMessage, session: Session): Promise<void> {
    head.resume()
    if (!(await this.desk.renew(session))) {
      await this.desk.fail(
        call,
        unavailable('the session with the target has ended: start this server again'),
      )
      return
    }
    await this.tryAgain(call, this.session)
  }

  private async tryAgain(call: Call, session: Session): Promise<void> {
    const head = await this.post(call, session).answer
    const { statusCode: status = 0 } = head
    if (status >= 200 && status < 300) await this.read(call, head, session)
    else await this.fail(call, status, errorIn(await bodyOf(head, this.desk.most)))
  }

  private async refused(call: Call, head: IncomingMessage, session: Session): Promise<void> {
    const { statusCode: status = 0 } = head
    const body = await bodyOf(head, this.desk.most)
    const mayBeOlder = call.method === 'initialize' && !call.isOurs && WANTS_OLDER.has(status)
    if (mayBeOlder && (await this.desk.fallBack(call))) return
    const error = errorIn(body)
    const mayLack = error?.code === HEADER_MISMATCH && call.isStateless && call.method === 'tools/call'
    if (mayLack && (await this.parameters.refresh(call.message))) await this.tryAgain(call, session)
    else await this.fail(call, status, error)
  }

  private fail(call: Call, status: number, error: ReturnType<typeof errorIn>): Promise<void> {
    return this.desk.fail(call, error ?? unavailable(refusedSentence(status)))
  }

  private async read(call: Call, head: IncomingMessage, session: Session): Promise<void> {
    if (call.method === 'initialize') {
      const id = head.headers['mcp-session-id']
      if (typeof id === 'string') session.id = id
    }
    const { log, most } = this.desk
    if (isEvents(head)) await this.follow(call, head, session)
    else if (isJson(head)) {
      const body = await bodyOf(head, most)
      if (body !== undefined && body.length > 0)
        await takeMessage(body, (message) => this.take(call, message, session), log)
    } else head.resume()
    if (call.unanswered.length > 0 && !this.desk.ending.aborted) {
      await this.desk.fail(call, unavailable('the target ended its answer before the response was there'))
    }
    if (call.method === 'notifications/initialized') void this.listen(session)
  }

  private take(call: Call, message: Message, session: Session): Promise<void> {
    const mine = message.answers.some((id) => call.unanswered.includes(id))
    if (mine && call.method === 'initialize') {
      const version = agreedVersion(message)
      if (version !== undefined) session.version = version
    }
    if (mine && call.isStateless && call.method === 'tools/list') this.parameters.learn(message)
    return this.desk.receive(message)
  }

  /** Reads an answer that is a stream, and takes it up again where it broke off. */
  private async follow(call: Call, head: IncomingMessage, session: Session): Promise<void> {
    const { log, most, ending } = this.desk
    const signal = AbortSignal.any([ending, call.signal])
    const events = new Events(most)
    let stream: IncomingMessage | undefined = head
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const before = events.id
      if (stream !== undefined) {
        await readEvents(stream, events, (message) => this.take(call, message, session), log)
      }
      if (call.unanswered.length === 0 || events.id === undefined || signal.aborted) return
      if (events.id !== before) tries = 0
      if (!(await pause(tries, events.retry, signal))) return
      const again = await this.get(session, events, signal)
      if (again === 'refused') return
      stream = again
    }
  }

  /** The stream for what the target says unasked. A target need not have one. */
  private async listen(session: Session): Promise<void> {
    if (session.listening === true) return
    session.listening = true
    const { log, most, ending } = this.desk
    const events = new Events(most)
    for (let tries = 0; session === this.session && !ending.aborted; tries++) {
      const stream = await this.get(session, events, ending)
      if (stream === 'refused') return
      if (stream !== undefined) {
        const before = events.id
        const opened = Date.now()
        await readEvents(stream, events, (message) => this.desk.receive(message), log)
        if (events.id !== before || Date.now() - opened > LASTED) tries = 0
      }
      if (!(await pause(tries, events.retry, ending))) return
    }
  }

  /** A stream, or nothing when another try may help. */
  private async get(
    session: Session,
    events: Events,
    signal: AbortSignal,
  ): Promise<IncomingMessage | 'refused' | undefined> {
    const headers = {
      ...this.headers(session),
      accept: 'text/event-stream',
      ...(events.id !== undefined && { 'last-event-id': Buffer.from(events.id).toString('latin1') }),
    }
    try {
      const head = await this.wire.send({ method: 'GET', path: this.path, headers, signal }).answer
      const { statusCode: status = 0 } = head
      if (status === 200 && isEvents(head)) return head
      head.resume()
      const passing = status >= 500 || status === 429
      return passing ? undefined : 'refused'
    } catch {
      return undefined
    }
  }

  private async broken(call: Call, error: unknown): Promise<void> {
    this.desk.log.debug({ err: error }, 'a request into the list failed')
    await this.desk.fail(call, unavailable('the connection to the target broke off'))
  }
}

const agreedVersion = ({ single }: Message): string | undefined => {
  const { protocolVersion } = fieldsOf(single['result'])
  return typeof protocolVersion === 'string' && isPlain(protocolVersion) ? protocolVersion : undefined
}

// A stream that held this long did not fail.
const LASTED = 10_000
