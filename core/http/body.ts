import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  preParsingHookHandler,
  RouteOptions,
} from 'fastify'
import { Refusal } from '../contract/errors.js'
import { isPromise } from '../toolkit/deadline.js'

/** Milliseconds for a body that the gateway itself reads: Fastify takes 1 MiB at most. */
export const BODY_DEADLINE = 30_000

/** Whether a body comes with the head, or is announced by it. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0

export const bodyTooSlow = (): Refusal =>
  new Refusal(408, 'BODY_TOO_SLOW', 'the rest of the body did not come in time')

export const bodyTooLarge = (): Refusal =>
  new Refusal(413, 'BODY_TOO_LARGE', 'the body is larger than this gateway takes')

export const bodyIncomplete = (): Refusal =>
  new Refusal(400, 'BODY_INCOMPLETE', 'the body ended before its end')

/** A body that never ends would keep its route, and a stop, waiting. A handler that forwards has a limit of its own. */
export function limitBody(
  { raw }: FastifyRequest,
  reply: FastifyReply,
  deadline: number,
  refuse: (refusal: Refusal) => void,
): void {
  if (raw.complete || raw.readableEnded || raw.destroyed || !hasBody(raw)) return
  // A request that never had a socket may end without either event.
  const timer = setTimeout(() => {
    if (reply.sent) return
    reply.header('connection', 'close')
    refuse(bodyTooSlow())
  }, deadline).unref()
  const stop = (): void => clearTimeout(timer)
  raw.once('end', stop).once('close', stop)
}

const MAX_BYTES = 16 * 1024 * 1024
const NO_BODY = Buffer.alloc(0)

/** Reads the body of a request that it has taken over, and sends those bytes in place of the stream. */
export interface BodyReader {
  readBody(maxBytes: number): Buffer | Promise<Buffer>
}

/** Keeps the bytes of a body that was read. */
export interface BodyKeeper {
  /** Nobody needs them any more. */
  discard(): void
}

/** What is known of the body of one request: in one object, so that all requests have the same shape. */
class BodyState {
  reader: BodyReader | undefined
  keeper: BodyKeeper | undefined
  /** The body itself once it was read. */
  asked: Buffer | Promise<Buffer> | undefined
  isForgotten = false

  constructor(public response: ServerResponse | undefined) {}
}

const STATE = Symbol('body')
const READ = Symbol('read body')

declare module 'fastify' {
  interface FastifyRequest {
    [STATE]: BodyState | undefined
    [READ](maxBytes: number): Buffer | Promise<Buffer>
  }
}

/** On a route that does not read bodies itself one may take `deadline` milliseconds. */
export function decorateBody(app: FastifyInstance, deadline = BODY_DEADLINE): void {
  // All requests begin with a place for it.
  app.decorateRequest(STATE, undefined)
  app.decorateRequest(READ, function (this: FastifyRequest, maxBytes: number) {
    return readOnce(this, maxBytes, deadline)
  })
  app.decorateRequest('wholeBody', async function (this: FastifyRequest, maxBytes?: number) {
    return wholeBodyOf(this, maxBytes)
  })
}

function stateOf(request: FastifyRequest): BodyState {
  request[STATE] ??= new BodyState(undefined)
  return request[STATE]
}

/** Read once, whoever asks, and handed on to whatever reads the body after that. It is there at once if it has come. */
export const wholeBodyOf = (request: FastifyRequest, maxBytes = MAX_BYTES): Buffer | Promise<Buffer> =>
  request[READ](maxBytes)

function readOnce(request: FastifyRequest, maxBytes: number, deadline: number): Buffer | Promise<Buffer> {
  const state = stateOf(request)
  if (state.isForgotten) throw new Error('the body was sent on, and is not kept')
  if (state.asked === undefined) {
    const body = read(request, state, maxBytes, deadline)
    state.asked = body
    if (isPromise(body)) {
      const keep = (whole: Buffer): void => {
        state.asked = whole
      }
      body.then(keep, () => {})
    }
  }
  const { asked } = state
  return isPromise(asked) ? asked.then((whole) => atMost(maxBytes, whole)) : atMost(maxBytes, asked)
}

function atMost(maxBytes: number, whole: Buffer): Buffer {
  if (whole.length > maxBytes) throw bodyTooLarge()
  return whole
}

function read(
  request: FastifyRequest,
  { reader, response }: BodyState,
  maxBytes: number,
  deadline: number,
): Buffer | Promise<Buffer> {
  const { readBody } = request.routeOptions.config
  try {
    if (reader !== undefined) return reader.readBody(maxBytes)
    if (readBody !== undefined && response !== undefined) return readBody(request, response, maxBytes)
    return received(request, response, maxBytes, deadline)
  } catch (error) {
    // Whoever asks next gets the same.
    return Promise.reject(error)
  }
}

/** From here on this reads the body for `request.wholeBody`. */
export function readBodyBy(request: FastifyRequest, reader: BodyReader): void {
  stateOf(request).reader = reader
}

/** The bytes of the body are with this one. */
export function bodyKeptBy(request: FastifyRequest, keeper: BodyKeeper): void {
  stateOf(request).keeper = keeper
}

/** Other bytes go on than those that came: whoever reads the body from now on, such as a signature, gets these. */
export function bodyReplaced(request: FastifyRequest, sent: Buffer): void {
  stateOf(request).asked = sent
}

/** The body, if it was read already. Of one that was not read to its end nothing may be sent on. */
export function bodyRead(request: FastifyRequest): Buffer | undefined {
  const asked = request[STATE]?.asked
  if (isPromise(asked)) throw bodyTooLarge()
  return asked
}

/** Lets go of a body that nobody needs again: its response may last for hours. What it called is still known. */
export function forgetBody(request: FastifyRequest): void {
  request.body = undefined
  const state = request[STATE]
  if (state?.asked === undefined) return
  state.isForgotten = true
  state.asked = undefined
  state.reader = undefined
  state.keeper?.discard()
}

/** Remembers the response for who reads the body: with `Expect` it has to be asked for, and what is kept of it freed. */
export function rememberResponse(request: FastifyRequest, response: ServerResponse): void {
  request[STATE] = new BodyState(response)
}

export const responseOf = (request: FastifyRequest): ServerResponse | undefined => request[STATE]?.response

/** Asks for the body now, and only once. */
export function askForBody(
  { headers, raw }: FastifyRequest,
  response: { writeContinue(): void } | undefined,
): void {
  if (headers.expect === undefined) return
  // HTTP/1.0 has no 1xx (RFC 9110, 15.2).
  if (raw.httpVersionMinor > 0) response?.writeContinue()
  delete headers.expect
}

/** Has a route that Fastify reads the body of get the bytes that were read before. */
export function replayBody(route: RouteOptions): void {
  if (route.config?.forwardsExpect === true || !TAKE_BODY.test(String(route.method))) return
  route.preParsing = [replay, ...[route.preParsing ?? []].flat()]
}

const TAKE_BODY = /POST|PUT|PATCH|DELETE/

const replay: preParsingHookHandler = (request, _reply, payload, done) => {
  const whole = bodyRead(request)
  if (whole === undefined) done(null, payload)
  else done(null, Object.assign(Readable.from([whole]), { receivedEncodedLength: whole.length }))
}

function received(
  request: FastifyRequest,
  response: ServerResponse | undefined,
  maxBytes: number,
  deadline: number,
): Promise<Buffer> {
  const { raw, headers } = request
  if (!hasBody(raw)) return Promise.resolve(NO_BODY)
  if (Number(headers['content-length']) > maxBytes) return Promise.reject(bodyTooLarge())
  // Its `close` may have come already, or somebody else has read it.
  if (raw.destroyed || raw.readableEnded) return Promise.reject(bodyIncomplete())
  askForBody(request, response)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= maxBytes) return
      // A caller that sends all of its body first reads the answer only then.
      raw.off('data', onData).resume()
      chunks.length = 0
      timer.unref()
      reject(bodyTooLarge())
    }
    const timer = setTimeout(() => {
      if (size > maxBytes) {
        raw.destroy()
        return
      }
      raw.off('data', onData).pause()
      response?.setHeader('connection', 'close')
      reject(bodyTooSlow())
    }, deadline)
    raw
      .on('data', onData)
      .once('end', () => {
        // The request of a dispatch never emits `close`.
        clearTimeout(timer)
        resolve(Buffer.concat(chunks))
      })
      .once('close', () => {
        clearTimeout(timer)
        reject(bodyIncomplete())
      })
  })
}

// Milliseconds for the rest of a body to come.
const LONGEST_REST = 60_000

/** Whether a part of the body is still to come. */
export const owesBody = (request: IncomingMessage): boolean => !request.complete && hasBody(request)

/**
 * A response that comes before the end of the body says that it is the last one of its connection: a proxy in front may
 * drop the rest of that body, and what it would send next, of another caller, would be read as that rest. The rest is
 * read for a while all the same: unread bytes would make the system reset the connection before the response was read. Nobody
 * waits for a body that was too slow (408), or that was not asked for.
 */
export function closeAfterBody(response: ServerResponse, status: number): void {
  const { req, socket } = response
  if (socket === null) return
  response.shouldKeepAlive = false
  if (status === 408 || req.headers.expect !== undefined) return
  // Node calls it once the response is sent.
  socket.destroySoon = function (this: Socket): void {
    Reflect.deleteProperty(this, 'destroySoon')
    if (req.complete) {
      this.destroySoon()
      return
    }
    const timer = setTimeout(() => this.destroy(), LONGEST_REST)
    this.once('close', () => clearTimeout(timer))
    req.once('end', () => this.destroySoon())
  }
}
