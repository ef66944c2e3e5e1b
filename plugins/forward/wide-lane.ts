import {
  Agent,
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http'
import { request as httpsRequest, Agent as TlsAgent } from 'node:https'
import type { Readable } from 'node:stream'
import type { FastifyReplyFromHooks, FastifyReplyFromOptions } from '@fastify/reply-from'
import type { FastifyReply } from 'fastify'
import { tooLate } from './failures.js'
import type { Lane, Outgoing, Receiver, Trip } from './lane.js'
import type { Target } from './target.js'

const OUTGOING = Symbol('outgoing')

interface Carried {
  readonly [OUTGOING]: WideTrip
}

/** What reply-from asks of an HTTP client of one's own. */
type Callback = (
  error: Error | null,
  answer?: { statusCode: number; headers: object; body: Readable },
) => void

/**
 * The way for everything that HTTP/1.1 can say: streams of any size, chunks, trailers, `Expect`, upgrades. It goes
 * through @fastify/reply-from to Node's own client, which sends headers and paths as the bytes they are; left to
 * itself reply-from parses the path as a URL, joins repeated headers, and knows neither trailers nor upgrades.
 */
export class WideLane implements Lane {
  protected readonly agent: Agent
  private from: Promise<From> | undefined

  constructor(
    private readonly target: Target,
    private readonly connectTimeout: number,
  ) {
    this.agent = target.secure ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true })
  }

  send(outgoing: Outgoing, receiver: Receiver): Trip {
    const trip = new WideTrip(outgoing, receiver)
    void this.carry(trip).catch((error: unknown) => trip.fail(error))
    return trip
  }

  private async carry(trip: WideTrip): Promise<void> {
    this.from ??= replyFrom({
      base: this.target.origin,
      undici: { request: this.request } as object,
      // Retrying is the caller's choice. An empty list is the only setting that turns all retries off.
      retryMethods: [],
      disableRequestLogging: true,
    })
    const from = await this.from
    if (trip.isOver) return
    const carried: IncomingHttpHeaders & Carried = { [OUTGOING]: trip }
    from(trip.outgoing.reply, {
      // Copied by reply-from, symbols too: this is how the whole request reaches `request` unread.
      rewriteRequestHeaders: () => carried,
      // It would look at the body otherwise, and write JSON anew.
      body: null,
      rewriteHeaders: () => ({}),
      onResponse: () => trip.begin(),
      onError: (_reply, { error }) => trip.fail(error.cause ?? error),
    })
  }

  close(): void {
    this.agent.destroy()
  }

  private readonly request = ({ headers }: { headers: Carried }, callback: Callback): void => {
    const trip = headers[OUTGOING]
    trip.leave(this.open(trip.outgoing), callback, this.connectTimeout)
  }

  private open(outgoing: Outgoing): ClientRequest {
    const open = this.target.secure ? httpsRequest : httpRequest
    return open(this.target.origin, this.optionsOf(outgoing))
  }

  protected optionsOf({ method, path, headers, upgrade }: Outgoing): RequestOptions {
    const sent = upgrade ? [...headers, 'Connection', 'Upgrade', 'Upgrade', 'websocket'] : headers
    // A flat list is what keeps order, case and repeats.
    return { method, path, headers: sent, agent: this.agent, setHost: false }
  }
}

type From = (reply: FastifyReply, options: FastifyReplyFromHooks) => void

/**
 * What reply-from adds to replies. It loads with the first call that needs it: most lists never have one, and a start
 * would wait for it as long as for half of the rest. By then the gateway's own application takes no plugin any more,
 * so it gets one to itself.
 */
async function replyFrom(options: FastifyReplyFromOptions): Promise<From> {
  const [{ default: fastify }, { default: plugin }] = await Promise.all([
    import('fastify'),
    import('@fastify/reply-from'),
  ])
  const app = fastify()
  await app.register(plugin, options)
  const found = new Promise<From>((resolve) => {
    app.get('/', (_request, lender) => {
      resolve((reply, hooks) => void lender.from.call(reply, '/', hooks))
      return ''
    })
  })
  await app.inject('/')
  return found
}

class WideTrip implements Trip {
  private request: ClientRequest | undefined
  private answer: IncomingMessage | undefined
  private timer: NodeJS.Timeout | undefined
  private over = false

  get isOver(): boolean {
    return this.over
  }

  constructor(
    readonly outgoing: Outgoing,
    private readonly receiver: Receiver,
  ) {}

  leave(request: ClientRequest, callback: Callback, connectTimeout: number): void {
    this.request = request
    const { receiver } = this
    request.on('response', (answer) => {
      clearTimeout(this.timer)
      this.answer = answer
      // reply-from checks what it gets, and its range of statuses is narrower than the wire's.
      callback(null, { statusCode: 200, headers: {}, body: answer })
    })
    request.on('upgrade', (answer, socket, early) => {
      if (!this.outgoing.upgrade) {
        socket.destroy()
        this.fail(unasked())
        return
      }
      clearTimeout(this.timer)
      this.over = true
      receiver.upgraded(headOf(answer), socket, early)
    })
    request.on('continue', () => receiver.proceed())
    request.on('error', (error) => (this.answer === undefined ? callback(error) : this.fail(error)))
    request.on('finish', () => this.wait())
    request.on('socket', (socket) => {
      if (!socket.connecting) return
      const slow = setTimeout(() => request.destroy(timedOut()), connectTimeout)
      socket.once('connect', () => clearTimeout(slow)).once('close', () => clearTimeout(slow))
    })
    this.sendBody(request)
  }

  begin(): void {
    const { answer, receiver } = this
    if (answer === undefined || this.over) return
    answer.on('error', (error) => this.fail(error))
    answer.on('end', () => {
      if (this.over) return
      this.over = true
      // An answer that did not wait for the body: nobody else would end a request that is never finished.
      if (this.request?.writableFinished === false) this.request.destroy()
      receiver.end(answer.rawTrailers)
    })
    if (receiver.head(headOf(answer), this)) this.resume()
  }

  fail(error: unknown): void {
    if (this.over) return
    this.over = true
    clearTimeout(this.timer)
    this.receiver.failed(error)
  }

  resume(): void {
    const { answer, receiver } = this
    if (answer === undefined || this.over) return
    // Only now: a stream that is listened to tells of an empty body's end also while it is paused.
    if (answer.listenerCount('data') === 0) {
      answer.on('data', (chunk: Buffer) => {
        if (!this.over && !receiver.data(chunk)) answer.pause()
      })
    }
    answer.resume()
  }

  abort(): void {
    this.over = true
    clearTimeout(this.timer)
    this.request?.destroy()
  }

  // Time counts from the last byte of the request: a long upload is not the target's silence.
  private wait(): void {
    const { patience } = this.outgoing
    if (patience === 0 || this.over || this.answer !== undefined) return
    this.timer = setTimeout(() => {
      this.fail(tooLate())
      this.request?.destroy()
    }, patience)
  }

  private sendBody(request: ClientRequest): void {
    const { body } = this.outgoing
    const end = (last?: Buffer): void => {
      const trailers = this.receiver.trailers()
      if (trailers.length > 0) request.addTrailers(pairs(trailers))
      request.end(last)
    }
    if (body === undefined || Buffer.isBuffer(body)) {
      end(body)
      return
    }
    request.on('drain', () => body.resume())
    body.flow((chunk) => request.write(chunk), end)
  }
}

const headOf = ({ statusCode = 0, statusMessage = '', rawHeaders }: IncomingMessage) => ({
  status: statusCode,
  reason: statusMessage,
  headers: rawHeaders,
})

const unasked = (): Error => Object.assign(new Error('changed protocols unasked'), { code: 'HPE_UPGRADE' })

const timedOut = (): Error => Object.assign(new Error('no connection'), { code: 'UND_ERR_CONNECT_TIMEOUT' })

export function pairs(flat: readonly string[]): [string, string][] {
  const found: [string, string][] = []
  for (let index = 0; index < flat.length; index += 2) found.push([flat[index] ?? '', flat[index + 1] ?? ''])
  return found
}
