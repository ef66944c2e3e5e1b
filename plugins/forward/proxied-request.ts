import type { Duplex } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type OutgoingCredential, Refusal, type TargetRefusal, UpstreamError } from 'sallyport'
import {
  allValues,
  askForBody,
  type BodyReader,
  type FlatHeaders,
  firstValue,
  forgetBody,
  isEventStream,
  isPromise,
  isUpgrade,
  observationOf,
  type ResponseHead,
  type ResponseSink,
} from 'sallyport/toolkit'
import { asksForStream, type ForwardContext } from './context.js'
import type { EndpointRewriter } from './endpoint-rewriter.js'
import { credentialRefused, foreignRedirect, notRepeatable, targetFailure } from './failures.js'
import type { Call, OutgoingRequest, RequestParts, ResponseHandler } from './transport.js'
import { joinSockets } from './upgraded-sockets.js'

const MAX_RENEWALS = 3
const MAX_REDIRECTS = 5

/**
 * One request and its response. Presents the credential, sends the request, and again after a renewal or a redirect.
 */
export class ProxiedRequest implements ResponseHandler, BodyReader {
  private credential: OutgoingCredential | undefined
  private outgoing: OutgoingRequest | undefined
  private call: Call | undefined
  private sink: ResponseSink | undefined
  private rewriter: EndpointRewriter | undefined
  private refusals = 0
  private redirects = 0
  private ended = false

  constructor(
    private readonly context: ForwardContext,
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
    private parts: RequestParts,
    private readonly done: (error: Error) => void,
  ) {
    // A caller that disconnects cancels its request.
    reply.raw.on('close', () => this.cancel())
  }

  start(): void {
    try {
      const credential = this.context.credentials.present(this.request)
      if (isPromise(credential)) credential.then((presented) => this.sendWith(presented), this.fail)
      else this.sendWith(credential)
    } catch (error) {
      this.fail(error)
    }
  }

  /** Responds with an error, or destroys the connection when a response has begun and not ended. */
  readonly fail = (error: unknown): void => {
    if (this.ended) return
    this.cancel()
    const { raw } = this.reply
    if (!raw.headersSent) this.done(error instanceof Error ? error : targetFailure(error))
    else if (!raw.writableEnded) raw.destroy()
  }

  onHead(head: ResponseHead, call: Call): boolean {
    // Also without a credential, since a plugin may wait for the target's challenge before it presents one.
    const mayRenew = this.credential !== undefined || this.context.credentials.renewable
    if (mayRenew && (head.status === 401 || head.status === 403)) {
      void this.onRefused(head, call)
      return false
    }
    if (this.credential !== undefined && REDIRECT_STATUSES.has(head.status)) {
      call.abort()
      observationOf(this.request)?.targetEnded()
      this.redirect(head)
      return true
    }
    this.respond(head, call)
    return true
  }

  onData(chunk: Buffer): boolean {
    const passed = this.rewriter?.rewrite(chunk) ?? chunk
    return this.ended || passed.length === 0 || (this.sink?.data(passed) ?? true)
  }

  onEnd(trailers: readonly string[]): void {
    if (this.ended) return
    observationOf(this.request)?.targetEnded()
    try {
      if (this.rewriter !== undefined) this.sink?.data(this.rewriter.end())
      if (this.sink?.end(trailers) ?? true) this.ended = true
    } catch (error) {
      this.onError(error)
    }
  }

  onError(error: unknown): void {
    const failure = targetFailure(error)
    const code = failure.code.toLowerCase()
    const observed = observationOf(this.request)
    if (!this.ended) {
      // A refusal is the gateway's own, and says nothing about the target.
      if (!(failure instanceof Refusal)) this.context.count(code, this.request)
      // Recorded here, since a response that has begun gets no error reply.
      if (observed !== undefined) observed.errorCode = code
    }
    observed?.targetEnded(code)
    this.fail(failure)
  }

  requestTrailers(): FlatHeaders {
    return this.context.trailersFor(this.request, this.credential)
  }

  onContinue(): void {
    if (!this.ended && !this.reply.raw.headersSent) askForBody(this.request, this.reply.raw)
  }

  onUpgrade(head: ResponseHead, socket: Duplex, early: Buffer): void {
    if (this.ended) {
      socket.destroy()
      return
    }
    this.ended = true
    this.context.count('upgraded', this.request)
    this.discardBody()
    joinSockets(this.reply, head, socket, early, this.context.omittedFor(this.credential))
    this.context.limitStream(this.reply)
  }

  private sendWith(credential: OutgoingCredential | undefined): void {
    if (this.ended) return
    this.credential = credential
    try {
      this.send()
    } catch (error) {
      // The error is dropped, since its text may quote the request.
      this.fail(error instanceof UpstreamError ? error : targetFailure(undefined))
    }
  }

  private send(): void {
    const { context, request, reply, credential } = this
    const { path, body, transport } = this.parts
    const length = Buffer.isBuffer(body) ? body.length : undefined
    const headers = context.headersFor(request, credential, length)
    const upgrade = isUpgrade(request.raw)
    const timeout = context.timeoutFor(request)
    observationOf(request)?.sent()
    this.outgoing = { method: request.method, path, headers, body, timeout, upgrade, reply }
    this.call = transport.send(this.outgoing, this)
  }

  private respond(received: ResponseHead, call: Call): void {
    if (this.ended) return
    try {
      const { announced } = this.context
      const head = announced.headFor(this.request, received, this.parts.path)
      this.context.count(`${Math.floor(head.status / 100)}xx`, this.request)
      this.sink = this.context.sinkFor(head, this.reply, this.credential, this)
      this.sink.begin(head, call)
      // Only a whole body: a streamed one may still be arriving.
      if (Buffer.isBuffer(this.parts.body)) this.discardBody()
      if (isEventStream(head) || asksForStream(this.request)) this.context.limitStream(this.reply)
      if (!isEventStream(head)) return
      this.rewriter = announced.rewriterFor(this.request, head, this.parts.path)
    } catch (error) {
      this.onError(error)
    }
  }

  private async onRefused(head: ResponseHead, call: Call): Promise<void> {
    try {
      const status = head.status === 401 ? 401 : 403
      // The target's part ends here: the renewal is no time of the target, and the next attempt has its own part.
      observationOf(this.request)?.targetEnded(`http_${status}`)
      const challenges = allValues(head.headers, 'www-authenticate')
      const refusal: TargetRefusal = { status, challenges, attempt: ++this.refusals }
      const renewed =
        this.refusals <= MAX_RENEWALS && (await this.context.credentials.renew(this.request, refusal))
      if (this.ended) return
      if (renewed) {
        call.abort()
        this.checkRepeatable()
        this.start()
      } else if (status === 403 || this.credential === undefined) {
        this.respond(head, call)
        call.resume()
      } else {
        call.abort()
        this.onError(credentialRefused())
      }
    } catch (error) {
      this.fail(error)
    }
  }

  private redirect({ status, headers }: ResponseHead): void {
    try {
      const to = this.context.target.pathOf(firstValue(headers, 'location'), this.parts.path)
      // Only a GET may follow a 303 (RFC 9110, 15.4.4): the target has already processed any other request.
      const mayFollow = status !== 303 || ['GET', 'HEAD'].includes(this.request.method)
      if (to === undefined || !mayFollow || ++this.redirects > MAX_REDIRECTS) throw foreignRedirect(status)
      this.checkRepeatable()
      this.parts = { ...this.parts, path: to }
      this.sendWith(this.credential)
    } catch (error) {
      this.onError(error)
    }
  }

  /** Throws if the body was streamed, since it cannot be sent again. */
  private checkRepeatable(): void {
    const { body } = this.parts
    if (body === undefined || Buffer.isBuffer(body)) return
    throw notRepeatable()
  }

  async readBody(maxBytes: number): Promise<Buffer> {
    const { body } = this.parts
    if (body === undefined || Buffer.isBuffer(body)) return body ?? Buffer.alloc(0)
    askForBody(this.request, this.reply.raw)
    const whole = await body.collect(maxBytes)
    this.parts = { ...this.parts, body: whole }
    return whole
  }

  /** Frees the body, which cannot be sent again: a response or an upgraded connection may last long. */
  private discardBody(): void {
    const { path, source, transport } = this.parts
    this.parts = { path, body: undefined, source: undefined, transport }
    if (this.outgoing !== undefined) this.outgoing.body = undefined
    source?.discard()
    forgetBody(this.request)
  }

  private cancel(): void {
    if (this.ended) return
    this.ended = true
    this.call?.abort()
    this.sink?.discard()
  }
}

const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308])
