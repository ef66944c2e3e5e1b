import { failureCode, UpstreamError } from 'sallyport'

type Failure = readonly [sentence: string, statusCode?: 504]

const SENTENCES: Readonly<Record<string, Failure>> = {
  REFUSED: ['nothing listens where the target is expected'],
  DNS: ["the target's name does not resolve"],
  TLS: ['no TLS session with the target could be agreed on'],
  RESET: ['the target closed the connection before its answer was complete'],
  UNREACHABLE: ['there is no route to the target'],
  MALFORMED: ['the target does not speak HTTP as it should'],
  TOO_LARGE: ["the target's headers are larger than this gateway takes"],
  PROXY: ['the proxy on the way to the target opened no tunnel to it'],
  PROXY_TIMEOUT: ['the proxy on the way to the target did not answer in time', 504],
  TIMEOUT: ['the target did not begin to answer in time', 504],
}
const UNKNOWN: Failure = ['the request to the target failed']

/** What a caller and the metrics learn of a failure on the way to the target: its class, and no address. */
export function targetFailure(error: unknown): UpstreamError {
  if (error instanceof UpstreamError) return error
  const kind = failureCode(error).replace('EGRESS_', '')
  const [sentence, statusCode = 502] = SENTENCES[kind] ?? UNKNOWN
  const known = kind in SENTENCES ? kind : 'FAILED'
  return new UpstreamError(`TARGET_${known}`, sentence, { statusCode, cause: error })
}

/** The error for a target that did not begin to answer within its time. */
export function tooLate(): UpstreamError {
  return targetFailure(Object.assign(new Error('no answer'), { code: 'UND_ERR_HEADERS_TIMEOUT' }))
}
