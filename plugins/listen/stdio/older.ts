import type { IncomingMessage } from 'node:http'
import type { Call } from './call.js'
import { type Carrier, type Delivery, type Desk, unavailable } from './carrier.js'
import { Events } from './events.js'
import { TOO_LONG } from './lines.js'
import { takeMessage } from './reader.js'
import { refusedSentence } from './refusal.js'
import { isEvents, type Wire } from './wire.js'

const ENDPOINT_LIMIT = 10_000

interface Line {
  readonly endpoint: string
  lost: boolean
}

/** The transport of 2024-11-05: one stream that brings everything, and another place to post to. */
export class Older implements Carrier {
  session: object = {}
  private line: Promise<Line | undefined> | undefined
  private readonly calls = new Set<Call>()
  private readonly leaving = new WeakMap<Call, () => void>()

  constructor(
    private readonly wire: Wire,
    private readonly target: URL,
    private readonly desk: Desk,
  ) {}

  /** Whether the target speaks it. */
  async opens(): Promise<boolean> {
    this.line ??= this.open()
    return (await this.line) !== undefined
  }

  deliver(call: Call): Delivery {
    const done = this.bring(call)
    const posted = Promise.race([done, this.posted(call)])
    return { flushed: posted, taken: posted, done }
  }

  async close(): Promise<void> {}

  private posted(call: Call): Promise<void> {
    return new Promise((resolve) => this.leaving.set(call, resolve))
  }

  private async bring(call: Call): Promise<void> {
    try {
      if (call.method === 'initialize' && call.isOurs) this.line = this.open()
      let line = await this.line
      if (line === undefined || line.lost) {
        const again = !call.isOurs && (await this.desk.renew(this.session))
        line = again ? await this.line : undefined
      }
      if (line === undefined)
        await this.desk.fail(call, unavailable('the event stream of the target has ended'))
      else await this.post(call, line)
    } catch (error) {
      if (call.signal.aborted) return
      this.desk.log.debug({ err: error }, 'a request into the list failed')
      await this.desk.fail(call, unavailable('the connection to the target broke off'))
    }
  }

  private async post(call: Call, { endpoint }: Line): Promise<void> {
    this.calls.add(call)
    try {
      const signal = AbortSignal.any([this.desk.ending, call.signal])
      const headers = { 'content-type': 'application/json' }
      const body = call.message.bytes
      const head = await this.wire.send({ method: 'POST', path: endpoint, headers, body, signal }).answer
      head.resume()
      const { statusCode: status = 0 } = head
      if (status >= 300) await this.desk.fail(call, unavailable(refusedSentence(status)))
      this.leaving.get(call)?.()
      await Promise.race([call.closed, aborted(this.desk.ending)])
    } finally {
      this.calls.delete(call)
    }
  }

  private async open(): Promise<Line | undefined> {
    const { pathname, search } = this.target
    const headers = { accept: 'text/event-stream' }
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('no endpoint came')), ENDPOINT_LIMIT)
    try {
      const signal = AbortSignal.any([this.desk.ending, late.signal])
      const stream = await this.wire.send({ method: 'GET', path: pathname + search, headers, signal }).answer
      if (stream.statusCode === 200 && isEvents(stream)) return await this.endpointIn(stream)
      stream.destroy()
      return undefined
    } catch {
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }

  private endpointIn(stream: IncomingMessage): Promise<Line | undefined> {
    return new Promise((resolve) => void this.readAll(stream, resolve).finally(() => resolve(undefined)))
  }

  private async readAll(stream: IncomingMessage, opened: (line: Line | undefined) => void): Promise<void> {
    const events = new Events(this.desk.most)
    let line: Line | undefined
    try {
      for await (const chunk of stream) {
        for (const event of events.cut(chunk)) {
          if (event === TOO_LONG)
            this.desk.log.error('a message of the target was longer than is taken, and was dropped')
          else if (event.name === 'endpoint' && line === undefined) {
            const endpoint = this.endpointOf(event.data.toString())
            if (endpoint === undefined) return
            line = { endpoint, lost: false }
            this.session = line
            opened(line)
          } else if (event.name === 'message') {
            await takeMessage(event.data, (message) => this.desk.receive(message), this.desk.log)
          }
        }
      }
    } catch (error) {
      this.desk.log.debug({ err: error }, 'the event stream of the target broke off')
    } finally {
      if (line !== undefined) await this.lose(line)
    }
  }

  /** The target may choose a path, and never another host: what is posted there carries its credential. */
  private endpointOf(text: string): string | undefined {
    const url = URL.canParse(text, this.target.href) ? new URL(text, this.target) : undefined
    if (url?.origin === this.target.origin) return url.pathname + url.search
    this.desk.log.error('the target named an endpoint that is not its own; nothing is sent there')
    return undefined
  }

  private async lose(line: Line): Promise<void> {
    line.lost = true
    if (this.desk.ending.aborted) return
    for (const call of this.calls) {
      await this.desk.fail(
        call,
        unavailable('the event stream of the target ended before the response was there'),
      )
    }
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
