import { Readable } from 'node:stream'
import type { FastifyRequest, preParsingHookHandler, RouteOptions } from 'fastify'
import { Refusal } from '../contract/errors.js'

const MAX_BYTES = 16 * 1024 * 1024
const NO_BODY = Buffer.alloc(0)

/** Reads the body of a request that it has taken over, and sends those bytes in place of the stream. */
export interface BodyReader {
  readBody(maxBytes: number): Promise<Buffer>
}

const READER = Symbol('body reader')
const ASKED = Symbol('asked body')
const WHOLE = Symbol('whole body')
const RESPONSE = Symbol('response that continues')

interface BodyState {
  [READER]?: BodyReader
  [ASKED]?: Promise<Buffer>
  [WHOLE]?: Buffer
  [RESPONSE]?: { writeContinue(): void }
}

type WithBody = FastifyRequest & BodyState

/** `request.wholeBody`: read once, whoever asks, and handed on to whatever reads the body after that. */
export async function wholeBody(this: WithBody, maxBytes = MAX_BYTES): Promise<Buffer> {
  this[ASKED] ??= (this[READER]?.readBody(maxBytes) ?? received(this, maxBytes)).then((whole) => {
    this[WHOLE] = whole
    return whole
  })
  const whole = await this[ASKED]
  if (whole.length > maxBytes) throw tooLarge()
  return whole
}

/** From here on this reads the body for `request.wholeBody`. */
export function readBodyBy(request: WithBody, reader: BodyReader): void {
  request[READER] = reader
}

/** The body, if it was read already. Of one that was not read to its end nothing may be sent on. */
export function bodyRead(request: WithBody): Buffer | undefined {
  if (request[ASKED] !== undefined && request[WHOLE] === undefined) throw tooLarge()
  return request[WHOLE]
}

/** Remembers how to ask for the body of a request with `Expect`, which comes only then. */
export function rememberContinue(request: WithBody, response: { writeContinue(): void }): void {
  request[RESPONSE] = response
}

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

function received(request: WithBody, maxBytes: number): Promise<Buffer> {
  const { raw, headers } = request
  const length = Number(headers['content-length'] ?? 0)
  if (headers['transfer-encoding'] === undefined && length === 0) return Promise.resolve(NO_BODY)
  if (length > maxBytes) return Promise.reject(tooLarge())
  askForBody(request, request[RESPONSE])
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= maxBytes) return
      raw.off('data', onData).pause()
      reject(tooLarge())
    }
    raw
      .on('data', onData)
      .once('end', () => resolve(Buffer.concat(chunks)))
      .once('close', () => reject(new Refusal(400, 'BODY_INCOMPLETE', 'the body ended before its end')))
  })
}

const tooLarge = (): Refusal =>
  new Refusal(413, 'BODY_TOO_LARGE', 'the body is larger than this gateway takes')
