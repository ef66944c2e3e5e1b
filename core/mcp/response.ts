import { UpstreamError } from '../contract/errors.js'
import { firstValue } from '../http/flat-headers.js'

/** The head of a response, as the server sent it. */
export interface ResponseHead {
  readonly status: number
  readonly reason: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
}

/** Where a response comes from. */
export interface ResponseSource {
  /** Its body may go on. */
  resume(): void
  /** Ends it now. */
  abort(): void
}

/** Where a response goes. */
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

// Why a response cannot be looked through for lists. None of it reaches the caller then.

export const encodedResponse = (): UpstreamError =>
  new UpstreamError('RESPONSE_ENCODED', 'the target encoded its response, though it was asked not to')

export const partialResponse = (status: number): UpstreamError =>
  new UpstreamError(
    'RESPONSE_PARTIAL',
    `the target sent a part of a response (${status}) to a request for all`,
  )

export const malformedResponse = (): UpstreamError =>
  new UpstreamError('RESPONSE_MALFORMED', 'the target sent a response that begins like JSON and is none')

export const noList = (): UpstreamError =>
  new UpstreamError('RESPONSE_MALFORMED', 'the target sent something else in place of a list')

export const ambiguousResponse = (): UpstreamError =>
  new UpstreamError('RESPONSE_MALFORMED', 'the target sent a content type that can be read in two ways')

export const largeResponse = (): UpstreamError =>
  new UpstreamError('RESPONSE_TOO_LARGE', 'the target sent a message of more than 16 MiB')

export const noRoomForResponse = (): UpstreamError =>
  new UpstreamError('RESPONSES_FULL', 'too many responses are looked through at this moment', {
    statusCode: 503,
    retryAfter: 1,
  })

export const slowResponse = (): UpstreamError =>
  new UpstreamError('TARGET_TIMEOUT', 'the target did not complete its response in time', { statusCode: 504 })

/** Nobody gets it: the response has begun. */
export const unreadResponse = (): UpstreamError =>
  new UpstreamError('CALLER_TOO_SLOW', 'the caller did not read its response in time', { statusCode: 503 })

export const policyUnavailable = (cause: unknown): UpstreamError =>
  new UpstreamError('POLICY_UNAVAILABLE', 'a policy did not decide what may be listed', {
    statusCode: 503,
    cause,
  })
