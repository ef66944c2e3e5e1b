import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorShape, PublicError } from '../contract/error-shape.js'
import { GatewayError, Refusal, UpstreamError } from '../contract/errors.js'
import { type CountedResponse, releaseHead } from '../http/counted-response.js'
import type { LogThrottle } from '../log/log-throttle.js'
import type { RequestObserver } from '../observe/request-observer.js'
import { isPromise } from '../toolkit/deadline.js'
import type { Gate } from './gate.js'

const plainJson: ErrorShape = ({ code, sentence, requestId }) => ({
  error: code,
  error_description: sentence,
  request_id: requestId,
})

/** Turns refusals and errors into responses. No other code does that. */
export class ErrorReplies {
  constructor(
    private readonly gateOf: (request: FastifyRequest) => Gate,
    private readonly observer: Pick<RequestObserver, 'refused' | 'errorReplied'>,
    private readonly throttle: LogThrottle,
  ) {}

  readonly error = (thrown: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const error = thrown instanceof Error ? thrown : new Error('a value that is not an Error was thrown')
    try {
      this.reply(error, request, reply)
    } catch (fault) {
      this.log('error', 'making an error reply failed; the gateway sent a minimal one', request, fault)
      minimalReply(error, reply)
    }
  }

  private reply(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    if (error instanceof Refusal) this.refuse(error, request, reply)
    else if (statusOf(error) >= 500) this.log('error', 'a request failed', request, error)
    else this.log('debug', 'a request was invalid', request, error)

    const retryAfter =
      error instanceof Refusal || error instanceof UpstreamError ? error.retryAfter : undefined
    if (Number.isFinite(retryAfter)) reply.header('retry-after', retryAfter)
    const { code, sentence } = publicText(error)
    this.send(request, reply, { status: statusOf(error), code, sentence, requestId: request.id })
  }

  readonly notFound = (request: FastifyRequest, reply: FastifyReply): void => {
    this.send(request, reply, {
      status: 404,
      code: 'not_found',
      sentence: 'no route has this path and method',
      requestId: request.id,
    })
  }

  /** Replaces a response to a call that did not take the passage. Fastify may have begun to send that response. */
  readonly withoutPassage = (
    request: FastifyRequest,
    reply: FastifyReply,
    response: CountedResponse,
  ): void => {
    const cause = new Error(
      'a route with `mcp: true` answered without the passage: use openPassage of sallyport/toolkit',
    )
    const reasons = [{ provider: 'forwarder', cause: 'plugin_failed' }]
    const refusal = new Refusal(503, 'PLUGIN_FAILED', 'a plugin answered in a way that cannot be checked', {
      cause,
      reasons,
    })
    this.observer.refused(refusal, request, reply)
    const { code, sentence } = publicText(refusal)
    const error = { status: 503, code, sentence, requestId: request.id }
    this.observer.errorReplied(code, request)
    response.replaceBy(503, headersOf(error), bodyOf(error, request))
  }

  private refuse(refusal: Refusal, request: FastifyRequest, reply: FastifyReply): void {
    this.observer.refused(refusal, request, reply)
    const challenged = refusal.statusCode === 401 || Object.keys(refusal.challenge).length > 0
    if (challenged) reply.header('www-authenticate', this.challenge(refusal, request))
  }

  private challenge(refusal: Refusal, request: FastifyRequest): string {
    try {
      const header: unknown =
        this.gateOf(request).challenge?.header(refusal, request) ?? bareChallenge(refusal)
      if (typeof header === 'string' && /^[\x20-\x7e]+$/.test(header)) return header
      if (isPromise(header)) header.then(undefined, () => {})
      this.log('error', 'a challenge is no valid header value; the gateway sent a bare one', request)
    } catch (error) {
      this.log('error', 'making a challenge failed; the gateway sent a bare one', request, error)
    }
    return 'Bearer'
  }

  private log(level: 'error' | 'debug', message: string, request: FastifyRequest, err?: unknown): void {
    const code = err instanceof Error && 'code' in err ? err.code : undefined
    const common = { code, route: request.routeOptions.url }
    this.throttle.write(request.log, level, message, common, { err })
  }

  private send(request: FastifyRequest, reply: FastifyReply, error: PublicError): void {
    this.observer.errorReplied(error.code, request)
    releaseHead(reply.raw)
    reply.code(error.status).headers(headersOf(error)).send(bodyOf(error, request))
  }
}

const headersOf = ({ requestId }: PublicError) => ({
  'x-request-id': requestId,
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-type': 'application/json; charset=utf-8',
})

function bodyOf(error: PublicError, request: FastifyRequest): string {
  const shape = request.routeOptions.config.errors ?? plainJson
  return JSON.stringify(shape(error, request))
}

/** For a list without a challenge plugin. It names the missing scopes: a client could not request them otherwise. */
function bareChallenge({ code, challenge: { scope = '' } }: Refusal): string {
  const names = code === 'INSUFFICIENT_SCOPE' && /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)
  return names ? `Bearer error="insufficient_scope", scope="${scope}"` : 'Bearer'
}

/** Sent when making the error reply fails: it contains only constants. */
function minimalReply(error: Error, reply: FastifyReply): void {
  const refused = error instanceof Refusal && error.statusCode < 500
  const status = refused ? error.statusCode : 500
  if (status === 401) reply.header('www-authenticate', 'Bearer')
  releaseHead(reply.raw)
  reply
    .code(status)
    .header('x-content-type-options', 'nosniff')
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send(
      `{"error":"${refused ? 'refused' : 'internal_error'}","error_description":"the log of the gateway has the reason"}`,
    )
}

function statusOf(error: Error): number {
  const statusCode: unknown = Reflect.get(error, 'statusCode')
  const isWhole = typeof statusCode === 'number' && Number.isInteger(statusCode)
  return isWhole && statusCode >= 400 && statusCode < 600 ? statusCode : 500
}

/**
 * Messages of the gateway's own errors may be sent. Any other message may hold secrets, so a fixed sentence replaces
 * it.
 */
function publicText(error: Error): { code: string; sentence: string } {
  const isOwn = error instanceof Refusal || error instanceof UpstreamError
  if (isOwn || (error instanceof GatewayError && error.statusCode < 500)) {
    return { code: String(error.code).toLowerCase(), sentence: error.message }
  }
  const status = statusOf(error)
  if (status === 413)
    return { code: 'body_too_large', sentence: 'the body is larger than this gateway takes' }
  if (status === 415) {
    return { code: 'unsupported_media_type', sentence: 'this route does not accept this content type' }
  }
  if (status < 500) return { code: 'invalid_request', sentence: validationSentence(error) }
  return {
    code: 'internal_error',
    sentence: 'the gateway failed; its log has the reason under this request id',
  }
}

// Fastify's own validation names the field and the rule, never the value.
const validationSentence = (error: Error): string =>
  'code' in error && error.code === 'FST_ERR_VALIDATION' ? error.message : 'the request is not well formed'
