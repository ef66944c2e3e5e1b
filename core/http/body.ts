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

/** Whether the head announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0

export const bodyTooSlow = (): Refusal =>
  new Refusal(408, 'BODY_TOO_SLOW', 'the rest of the body did not arrive in time')

export const bodyTooLarge = (): Refusal =>
  new Refusal(413, 'BODY_TOO_LARGE', 'the body is larger than this gateway takes')

export const bodyIncomplete = (): Refusal =>
  new Refusal(400, 'BODY_INCOMPLETE', 'the connection closed before the whole body arrived')

/**
 * Without a limit, a body that never ends would keep its route, and a stop, waiting. A forwarder has a limit of its
 * own.
 */
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

/** A forwarder that reads the body of its request itself, and sends those bytes instead of the stream. */
export interface BodyReader {
  readBody(maxBytes: number): Buffer | Promise<Buffer>
}

/** Keeps the bytes of a body that was read. */
export interface BodyKeeper {
  /** No reader needs the bytes any more. */
  discard(): void
}

/** The state of one request's body. */
class BodyState {
  reader: BodyReader | undefined
  keeper: BodyKeeper | undefined
  /** A promise while the body is being read. */
  body: Buffer | Promise<Buffer> | undefined
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

/** `deadline`: milliseconds for a body, on routes that do not read bodies themselves. */
export function decorateBody(app: FastifyInstance, deadline = BODY_DEADLINE): void {
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

/** Reads the body once; every later reader gets the same bytes. Returns no promise when all bytes have arrived. */
export const wholeBodyOf = (request: FastifyRequest, maxBytes = MAX_BYTES): Buffer | Promise<Buffer> =>
  request[READ](maxBytes)

function readOnce(request: FastifyRequest, maxBytes: number, deadline: number): Buffer | Promise<Buffer> {
  const state = stateOf(request)
  if (state.isForgotten) throw new Error('the body was sent on, and is not kept')
  if (state.body === undefined) {
    const reading = read(request, state, maxBytes, deadline)
    state.body = reading
    if (isPromise(reading)) {
      const keep = (whole: Buffer): void => {
        state.body = whole
      }
      reading.then(keep, () => {})
    }
  }
  const { body } = state
  return isPromise(body) ? body.then((whole) => atMost(maxBytes, whole)) : atMost(maxBytes, body)
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
    // Every later reader gets the same error.
    return Promise.reject(error)
  }
}

/** From now on `request.wholeBody` reads the body through `reader`. */
export function readBodyBy(request: FastifyRequest, reader: BodyReader): void {
  stateOf(request).reader = reader
}

/** Names the holder of the body's bytes, so that `forgetBody` can free them. */
export function bodyKeptBy(request: FastifyRequest, keeper: BodyKeeper): void {
  stateOf(request).keeper = keeper
}

/** The gateway sends other bytes than it received: every later reader, such as a signature, gets `sent`. */
export function bodyReplaced(request: FastifyRequest, sent: Buffer): void {
  stateOf(request).body = sent
}

/** The body, if it was read already. Throws for a body that was not read to its end: no part of it may be sent on. */
export function bodyRead(request: FastifyRequest): Buffer | undefined {
  const body = request[STATE]?.body
  if (isPromise(body)) throw bodyTooLarge()
  return body
}

/** Frees a body that no reader needs again: its response may last for hours. The parsed message stays. */
export function forgetBody(request: FastifyRequest): void {
  request.body = undefined
  const state = request[STATE]
  if (state?.body === undefined) return
  state.isForgotten = true
  state.body = undefined
  state.reader = undefined
  state.keeper?.discard()
}

/** Remembers the response, on which the reader of the body sends `100 Continue`. */
export function rememberResponse(request: FastifyRequest, response: ServerResponse): void {
  request[STATE] = new BodyState(response)
}

export const responseOf = (request: FastifyRequest): ServerResponse | undefined => request[STATE]?.response

/** Sends `100 Continue` if the client waits for it, and only once. */
export function askForBody(
  { headers, raw }: FastifyRequest,
  response: { writeContinue(): void } | undefined,
): void {
  if (headers.expect === undefined) return
  // HTTP/1.0 has no 1xx (RFC 9110, 15.2).
  if (raw.httpVersionMinor > 0) response?.writeContinue()
  delete headers.expect
}

/** Gives Fastify's body parser the bytes that a guard or policy has read before. */
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
  // Its `close` may have come already, or another reader has read the body.
  if (raw.destroyed || raw.readableEnded) return Promise.reject(bodyIncomplete())
  askForBody(request, response)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= maxBytes) return
      // A client that reads the response only after it has sent its body must be able to send all of it.
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
        // A dispatched request never emits `close`.
        clearTimeout(timer)
        resolve(Buffer.concat(chunks))
      })
      .once('close', () => {
        clearTimeout(timer)
        reject(bodyIncomplete())
      })
  })
}

// Milliseconds for the rest of a body to arrive.
const REST_TIMEOUT = 60_000

/** Whether a part of the body has not arrived yet. */
export const isBodyPending = (request: IncomingMessage): boolean => !request.complete && hasBody(request)

/**
 * Makes a response that is sent before the end of the body the last one of its connection. A proxy in front may drop
 * the rest of that body, and the gateway would read the next request, of another caller, as that rest. The gateway
 * still reads the rest for a while: unread bytes would make the system reset the connection before the client has read
 * the response. It does not wait for a body that was too slow (408), nor for one that awaits `100 Continue`.
 */
export function closeAfterBody(response: ServerResponse, status: number): void {
  const { req, socket } = response
  if (socket === null) return
  response.shouldKeepAlive = false
  if (status === 408 || req.headers.expect !== undefined) return
  // Node calls `destroySoon` once the response is sent.
  socket.destroySoon = function (this: Socket): void {
    Reflect.deleteProperty(this, 'destroySoon')
    if (req.complete) {
      this.destroySoon()
      return
    }
    const timer = setTimeout(() => this.destroy(), REST_TIMEOUT)
    this.once('close', () => clearTimeout(timer))
    req.once('end', () => this.destroySoon())
  }
}
