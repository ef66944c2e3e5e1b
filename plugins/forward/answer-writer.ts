import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { lastsWhileListened } from 'sallyport'
import { answerHeaders, type FlatHeaders, firstValue } from './headers.js'
import type { Head, Trip } from './lane.js'
import { pairs } from './wide-lane.js'

// An answer of known length up to this is sent in one write with its head.
const HELD_BACK = 64 * 1024

interface Passed extends Head {
  readonly headers: FlatHeaders
}

/** Writes the target's answer to the caller, past Fastify: a header object would lose order and repeats. */
export class AnswerWriter {
  private readonly response: ServerResponse
  private held: Passed | undefined
  private chunks: Buffer[] = []

  constructor(private readonly reply: FastifyReply) {
    this.response = reply.raw
  }

  /** `hidden` is a header of the target's that the caller is not told. */
  begin(head: Head, trip: Trip, hidden: string | undefined): void {
    const { request } = this.reply
    const whole = Number(firstValue(head.headers, 'content-length') ?? Number.NaN) <= HELD_BACK
    const passed = {
      ...head,
      headers: this.withReplyHeaders(answerHeaders(head.headers, hidden), request.raw),
    }
    if (whole) {
      this.held = passed
      return
    }
    this.response.on('drain', () => trip.resume())
    if (isEventStream(request.raw, head)) lastsWhileListened(this.response)
    // Head and first data often come in one piece: they leave in one, and a head alone leaves at once.
    const { socket } = this.response
    socket?.cork()
    this.write(passed)
    this.response.flushHeaders()
    process.nextTick(() => socket?.uncork())
  }

  data(chunk: Buffer): boolean {
    if (this.held === undefined) return this.response.write(chunk)
    this.chunks.push(chunk)
    return true
  }

  end(trailers: readonly string[]): void {
    const { held, response, chunks } = this
    if (held !== undefined) {
      this.write(held)
      const last = chunks.pop()
      // In one write, as `end` lets go of what was held.
      if (chunks.length > 0) response.cork()
      for (const chunk of chunks) response.write(chunk)
      response.end(last)
      return
    }
    if (trailers.length > 0) response.addTrailers(pairs(trailers))
    response.end()
  }

  private write({ status, reason, headers }: Passed): void {
    // A caller is told the target's date or none.
    this.response.sendDate = false
    this.response.writeHead(status, REASON.test(reason) ? reason : '', headers)
    // Only now: what cannot be written is still answered with an error of ours.
    this.reply.hijack()
  }

  /** What other plugins put on the reply goes along, unless the target has the same header. */
  private withReplyHeaders(headers: FlatHeaders, { complete }: IncomingMessage): FlatHeaders {
    for (const [name, value] of Object.entries(this.reply.getHeaders())) {
      if (value === undefined || firstValue(headers, name) !== undefined) continue
      for (const each of Array.isArray(value) ? value : [value]) headers.push(name, String(each))
    }
    // A connection cannot be used again before the request's body was read.
    if (!complete) headers.push('Connection', 'close')
    return headers
  }
}

// A phrase that Node would not write says nothing that the status does not.
const REASON = /^[\t\x20-\x7e\x80-\xff]*$/

const isEventStream = ({ method }: IncomingMessage, { headers }: Head): boolean =>
  method === 'GET' &&
  firstValue(headers, 'content-type')?.toLowerCase().startsWith('text/event-stream') === true
