import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AccessSink, EndedRequest } from '../contract/capabilities/access-sink.js'
import { CountedResponse } from '../http/counted-response.js'
import { isDispatched } from '../http/dispatched-request.js'

const REPLY = Symbol('reply')
const REFUSED = Symbol('refused')

type WatchedResponse = ServerResponse & { [REPLY]?: FastifyReply | undefined }

/** Marks a request whose refusal has a log line of its own. */
export function markRefused({ raw }: FastifyReply): void {
  Reflect.set(raw, REFUSED, true)
}

const wasRefused = ({ raw }: FastifyReply): boolean => Reflect.has(raw, REFUSED)

/**
 * Calls back once, when the response has ended or its connection has closed; immediately if that has happened already.
 */
export function onceEnded(reply: FastifyReply, ended: (request: EndedRequest) => void): void {
  if (reply.raw.destroyed) ended(new Ended(reply))
  else reply.raw.once('close', () => ended(new Ended(reply)))
}

/** Passes requests that have ended to the access sinks that want them, and to the other observers. */
export class EndedRequests {
  // One function for all requests: it finds its reply in `this`.
  private readonly close: (this: WatchedResponse) => void

  constructor(
    sinks: () => readonly AccessSink[],
    pass: (sink: AccessSink, ended: EndedRequest) => void,
    observed: (ended: EndedRequest, elapsedMs: number) => void,
  ) {
    this.close = function (this: WatchedResponse): void {
      const reply = this[REPLY]
      if (reply === undefined) return
      this[REPLY] = undefined
      const ended = new Ended(reply)
      const { status } = ended
      // A dispatched request is a part of another one, which has its own line.
      if (!isDispatched(reply.request)) for (const sink of sinks()) if (status >= sink.from) pass(sink, ended)
      observed(ended, reply.elapsedTime)
    }
  }

  watch(reply: FastifyReply): void {
    const raw: WatchedResponse = reply.raw
    // Node knows the address of a closed connection only if it was read before.
    void raw.req?.socket?.remoteAddress
    raw[REPLY] = reply
    raw.on('close', this.close)
  }
}

/** Computes its fields on demand: most requests need few. The response of `inject` is not a `CountedResponse`. */
class Ended implements EndedRequest {
  constructor(private readonly reply: FastifyReply) {}

  get request(): FastifyRequest {
    return this.reply.request
  }

  get status(): number {
    return statusOf(this.reply.raw)
  }

  get durationMs(): number {
    return Math.round(this.reply.elapsedTime * 10) / 10
  }

  get bytes(): number {
    const { raw } = this.reply
    return raw instanceof CountedResponse ? raw.bodyBytes : Number(raw.getHeader('content-length') ?? 0)
  }

  get aborted(): boolean {
    const { raw } = this.reply
    if (raw.statusCode === 101) return false
    if (!(raw instanceof CountedResponse)) return !raw.writableEnded
    // A response finishes too when its socket has failed, or was destroyed, with the last bytes unsent.
    const { destroyed, writableFinished } = raw.req.socket
    return !raw.writableFinished || (destroyed && !writableFinished)
  }

  get refused(): boolean {
    return wasRefused(this.reply)
  }
}

// 499 as other servers log it.
const statusOf = ({ statusCode, headersSent }: ServerResponse): number =>
  headersSent || statusCode === 101 ? statusCode : 499
