import { UpstreamError } from '../contract/errors.js'
import { firstValue } from '../http/flat-headers.js'

/** The head of a response, as the server sent it. */
export interface ResponseHead {
  readonly status: number
  readonly reason: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
}

/** The source of a response. */
export interface ResponseSource {
  /** Lets the body go on. */
  resume(): void
  /** Ends the response now. */
  abort(): void
}

/** The destination of a response. */
export interface ResponseSink {
  begin(head: ResponseHead, source: ResponseSource): void
  /** `false` pauses the body until `ResponseSource.resume`. */
  data(chunk: Buffer): boolean
  /** `false` when the rest of the response is written later. */
  end(trailers: readonly string[]): boolean
  /** The response ends here, and nothing is written any more. */
  discard(): void
}

export const isEventStream = ({ headers }: ResponseHead): boolean =>
  firstValue(headers, 'content-type')?.toLowerCase().startsWith('text/event-stream') === true

// The reasons why a response cannot be searched for lists. The caller then gets no part of it.

export const encodedResponse = (): UpstreamError =>
  new UpstreamError('RESPONSE_ENCODED', 'the target encoded its response, though the gateway requested none')

export const partialResponse = (status: number): UpstreamError =>
  new UpstreamError(
    'RESPONSE_PARTIAL',
    `the target sent a partial response (${status}) to a request for a whole one`,
  )

export const malformedResponse = (): UpstreamError =>
  new UpstreamError(
    'RESPONSE_MALFORMED',
    'the target sent a response that begins like JSON but is not valid JSON',
  )

export const noList = (): UpstreamError =>
  new UpstreamError('RESPONSE_MALFORMED', 'the target sent an object instead of a list')

export const ambiguousResponse = (): UpstreamError =>
  new UpstreamError('RESPONSE_MALFORMED', 'the target sent a content type that can be read in two ways')

export const largeResponse = (): UpstreamError =>
  new UpstreamError('RESPONSE_TOO_LARGE', 'the target sent a message of more than 16 MiB')

export const noRoomForResponse = (): UpstreamError =>
  new UpstreamError('RESPONSES_FULL', 'the gateway holds too many responses at this moment', {
    statusCode: 503,
    retryAfter: 1,
  })

export const slowResponse = (): UpstreamError =>
  new UpstreamError('TARGET_TIMEOUT', 'the target did not complete its response in time', { statusCode: 504 })

/** For the log alone: the response has begun, so the caller cannot get this error. */
export const unreadResponse = (): UpstreamError =>
  new UpstreamError('CALLER_TOO_SLOW', 'the caller did not read its response in time', { statusCode: 503 })

export const policyUnavailable = (cause: unknown): UpstreamError =>
  new UpstreamError('POLICY_UNAVAILABLE', 'a policy did not decide which items may be listed', {
    statusCode: 503,
    cause,
  })
