import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
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

  readonly error = (error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): void => {
    if (error instanceof Refusal) this.refuse(error, request, reply)
    else if (statusOf(error) >= 500) request.log.error({ err: error }, 'a request failed')
    else request.log.debug({ err: error }, 'a request was wrong')

    const retryAfter =
      error instanceof Refusal || error instanceof UpstreamError ? error.retryAfter : undefined
    if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
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
    if (challenged)
      reply.header('www-authenticate', this.gateOf(request).challenge?.header(refusal, request) ?? 'Bearer')
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

function statusOf(error: FastifyError | Error): number {
  const { statusCode } = error as Partial<FastifyError>
  return statusCode !== undefined && statusCode >= 400 && statusCode < 600 ? statusCode : 500
}

/** A message of ours may be told; what others threw may hold anything, so it gets a sentence of ours. */
function wordsFor(error: FastifyError | Error): { code: string; sentence: string } {
  if (error instanceof Refusal || error instanceof UpstreamError) {
    return { code: error.code.toLowerCase(), sentence: error.message }
  }
  if (error instanceof GatewayError && error.statusCode < 500) {
    return { code: error.code.toLowerCase(), sentence: error.message }
  }
  const status = statusOf(error)
  if (status === 413)
    return { code: 'body_too_large', sentence: 'the body is larger than this gateway takes' }
  if (status === 415)
    return { code: 'unsupported_media_type', sentence: 'this content type is not taken here' }
  if (status < 500) return { code: 'invalid_request', sentence: validationSentence(error) }
  return { code: 'internal_error', sentence: 'something went wrong here; the log has the request id' }
}

// Fastify's validation names the field and the rule, never the value.
const validationSentence = (error: FastifyError | Error): string =>
  'validation' in error && error.validation !== undefined ? error.message : 'the request is not well formed'
