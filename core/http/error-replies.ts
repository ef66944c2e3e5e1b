import type { FastifyReply, FastifyRequest } from 'fastify'
import { isPromise } from '../deadline.js'
import { GatewayError, Refusal, UpstreamError } from '../errors.js'
import type { Gate } from './gate.js'

/** What a caller may learn of something that went wrong. */
export interface PublicError {
  readonly status: number
  /** In lower case, from a fixed set. */
  readonly code: string
  readonly sentence: string
  readonly requestId: string
}

/** Gives an error body its form. */
export type ErrorShape = (error: PublicError, request: FastifyRequest) => object

const plainJson: ErrorShape = ({ code, sentence, requestId }) => ({
  error: code,
  error_description: sentence,
  request_id: requestId,
})

/** The one place where verdicts and errors become answers. */
export class Answers {
  constructor(
    private readonly gateOf: (request: FastifyRequest) => Gate,
    private readonly onRefusal: (refusal: Refusal, request: FastifyRequest) => void,
  ) {}

  readonly error = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const error = thrown instanceof Error ? thrown : new Error('something that is no error was thrown')
    try {
      this.answer(error, request, reply)
    } catch (fault) {
      request.log.error({ err: fault }, 'an error could not be told in its own form')
      lastWord(error, reply)
    }
  }

  private answer(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    if (error instanceof Refusal) this.refuse(error, request, reply)
    else if (statusOf(error) >= 500) request.log.error({ err: error }, 'a request failed')
    else request.log.debug({ err: error }, 'a request was wrong')

    const retryAfter =
      error instanceof Refusal || error instanceof UpstreamError ? error.retryAfter : undefined
    if (Number.isFinite(retryAfter)) reply.header('retry-after', retryAfter)
    const { code, sentence } = wordsFor(error)
    this.send(request, reply, { status: statusOf(error), code, sentence, requestId: request.id })
  }

  readonly notFound = (request: FastifyRequest, reply: FastifyReply): void => {
    this.send(request, reply, {
      status: 404,
      code: 'not_found',
      sentence: 'there is nothing here',
      requestId: request.id,
    })
  }

  private refuse(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): void {
    this.onRefusal(refusal, request)
    reply.header('cache-control', 'no-store')
    const challenged = refusal.statusCode === 401 || Object.keys(refusal.challenge).length > 0
    if (challenged) reply.header('www-authenticate', this.challenge(refusal, request))
  }

  private challenge(refusal: Refusal, request: FastifyRequest): string {
    try {
      const header: unknown = this.gateOf(request).challenge?.header(refusal, request) ?? 'Bearer'
      if (typeof header === 'string' && /^[\x20-\x7e]+$/.test(header)) return header
      if (isPromise(header)) header.then(undefined, () => {})
      request.log.error('the challenge is no header value; a bare one was sent')
    } catch (error) {
      request.log.error({ err: error }, 'the challenge could not be made; a bare one was sent')
    }
    return 'Bearer'
  }

  private send(request: FastifyRequest, reply: FastifyReply, error: PublicError): void {
    const shape = request.routeOptions.config.errors ?? plainJson
    reply
      .code(error.status)
      .header('x-request-id', request.id)
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(shape(error, request)))
  }
}

/** When even the answer to an error fails: nothing in it comes from anywhere else. */
function lastWord(error: Error, reply: FastifyReply): void {
  const refused = error instanceof Refusal && error.statusCode < 500
  const status = refused ? error.statusCode : 500
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send(`{"error":"${refused ? 'refused' : 'internal_error'}","error_description":"the log tells why"}`)
}

function statusOf(error: Error): number {
  const statusCode: unknown = Reflect.get(error, 'statusCode')
  const known = typeof statusCode === 'number' && Number.isInteger(statusCode)
  return known && statusCode >= 400 && statusCode < 600 ? statusCode : 500
}

/** A message of ours may be told; what others threw may hold anything, so it gets a sentence of ours. */
function wordsFor(error: Error): { code: string; sentence: string } {
  const ours = error instanceof Refusal || error instanceof UpstreamError
  if (ours || (error instanceof GatewayError && error.statusCode < 500)) {
    return { code: String(error.code).toLowerCase(), sentence: error.message }
  }
  const status = statusOf(error)
  if (status === 413)
    return { code: 'body_too_large', sentence: 'the body is larger than this gateway takes' }
  if (status === 415) {
    return { code: 'unsupported_media_type', sentence: 'this content type is not taken here' }
  }
  if (status < 500) return { code: 'invalid_request', sentence: validationSentence(error) }
  return { code: 'internal_error', sentence: 'something went wrong here; the log has the request id' }
}

// Fastify's own validation names the field and the rule, never the value.
const validationSentence = (error: Error): string =>
  'code' in error && error.code === 'FST_ERR_VALIDATION' ? error.message : 'the request is not well formed'
