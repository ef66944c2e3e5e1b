import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type FlatHeaders, firstValue, pairs, responseHeaders } from '../http/flat-headers.js'
import { excludeFromDrain } from '../http/in-flight.js'
import { SUBSCRIPTION } from './methods.js'
import { isEventStream, type ResponseHead, type ResponseSink, type ResponseSource } from './response.js'

// A response of a known length up to this is sent in one write with its head.
const MAX_BUFFERED = 64 * 1024

interface PassedHead extends ResponseHead {
  readonly headers: FlatHeaders
}

/** Writes the target's response to the caller without Fastify, whose header object would lose order and repeats. */
export class ResponseWriter implements ResponseSink {
  private readonly response: ServerResponse
  private delayed: PassedHead | undefined
  private chunks: Buffer[] = []

  /** `omitted` are headers of the target that the caller does not get. */
  constructor(
    private readonly reply: FastifyReply,
    private readonly omitted: ReadonlySet<string> | undefined,
  ) {
    this.response = reply.raw
  }

  begin(head: ResponseHead, source: ResponseSource): void {
    const { request } = this.reply
    const fits = Number(firstValue(head.headers, 'content-length') ?? Number.NaN) <= MAX_BUFFERED
    const headers = passedHeaders(head, this.omitted)
    const sent = canHaveTrailers(request, head) ? headers : withoutTrailer(headers)
    const passed = { ...head, headers: this.withReplyHeaders(sent) }
    if (fits) {
      this.delayed = passed
      return
    }
    this.response.on('drain', () => source.resume())
    if (isEventStream(head) && lastsUntilEnded(request)) excludeFromDrain(this.response)
    // Sends the head together with the first data if these arrive in one piece, and otherwise at once.
    const { socket } = this.response
    socket?.cork()
    this.write(passed)
    // Not by `flushHeaders`, which writes bytes beyond ASCII as UTF-8.
    this.response.write('', 'latin1')
    process.nextTick(() => socket?.uncork())
  }

  data(chunk: Buffer): boolean {
    if (this.delayed === undefined) return this.response.write(chunk)
    this.chunks.push(chunk)
    return true
  }

  end(trailers: readonly string[]): boolean {
    const { delayed, response, chunks } = this
    if (delayed !== undefined) {
      this.write(delayed)
      const last = chunks.pop()
      // One write for all chunks: `end` uncorks.
      if (chunks.length > 0) response.cork()
      for (const chunk of chunks) response.write(chunk)
      response.end(last)
      return true
    }
    if (trailers.length > 0) response.addTrailers(pairs(trailers))
    response.end()
    return true
  }

  discard(): void {}

  private write({ status, reason, headers }: PassedHead): void {
    // Only the target's `Date` is sent, if it has one.
    this.response.sendDate = false
    this.response.writeHead(status, REASON.test(reason) ? reason : '', headers)
    // Only after `writeHead`: if it throws, Fastify can still send an error reply.
    this.reply.hijack()
  }

  /**
   * Adds the headers that other plugins set on the reply, unless the target sent the same; `Vary` is a list of both.
   */
  private withReplyHeaders(headers: FlatHeaders): FlatHeaders {
    for (const [name, value] of Object.entries(this.reply.getHeaders())) {
      // reply-from closes the connection if the request's body was not read to its end; the gateway reads the rest
      // later.
      if (name === 'connection') continue
      if (value === undefined || (name !== 'vary' && firstValue(headers, name) !== undefined)) continue
      for (const each of Array.isArray(value) ? value : [value]) headers.push(name, String(each))
    }
    return headers
  }
}

/** Removes the length of a 204: some callers would wait for the body that it announces (RFC 9110, 8.6). */
function passedHeaders(
  { status, headers }: ResponseHead,
  omitted: ReadonlySet<string> | undefined,
): FlatHeaders {
  const passed = responseHeaders(headers, omitted)
  return status === 204 ? responseHeaders(passed, LENGTH) : passed
}

/** Only a chunked body can have trailers: Node throws for any other head that announces trailers. */
const canHaveTrailers = ({ raw }: FastifyRequest, { status, headers }: ResponseHead): boolean =>
  raw.httpVersionMinor > 0 &&
  raw.method !== 'HEAD' &&
  status !== 204 &&
  status !== 304 &&
  firstValue(headers, 'content-length') === undefined

const withoutTrailer = (headers: FlatHeaders): FlatHeaders =>
  firstValue(headers, 'trailer') === undefined ? headers : responseHeaders(headers, TRAILER)

/** The caller ends the event stream of a GET or a subscription. Any other stream ends with the answer to its call. */
const lastsUntilEnded = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' || headers['mcp-method'] === SUBSCRIPTION

const LENGTH: ReadonlySet<string> = new Set(['content-length'])
const TRAILER: ReadonlySet<string> = new Set(['trailer'])

// Other reason phrases are left out: Node refuses to write them.
const REASON = /^[\t\x20-\x7e\x80-\xff]*$/
