import type { FastifyRequest } from 'fastify'
import { type HeaderSource, type OutgoingHeaders, UpstreamError } from 'sallyport'
import { isPromise } from 'sallyport/toolkit'

/** The headers that a source adds to a request. If it breaks its contract, the request fails and the log says why. */
export function headersFrom(source: HeaderSource, request: FastifyRequest): OutgoingHeaders {
  let result: unknown
  try {
    result = source.headers(request)
  } catch (cause) {
    throw sourceFailure(source, 'failed', cause)
  }
  if (!Array.isArray(result)) {
    if (!isPromise(result)) throw sourceFailure(source, 'did not return a list')
    // An unhandled rejection would end the process.
    result.then(undefined, () => {})
    throw sourceFailure(source, 'returned a promise: headers have to be returned at once')
  }
  for (const header of result) {
    if (!isPair(header)) throw sourceFailure(source, 'returned something other than pairs of strings')
    // The caller's own header of a name that was not declared has not been removed.
    if (!source.names.includes(header[0]))
      throw sourceFailure(source, 'returned a name that is not in its `names`')
  }
  return result
}

const isPair = (header: unknown): header is OutgoingHeaders[number] =>
  Array.isArray(header) && typeof header[0] === 'string' && typeof header[1] === 'string'

function sourceFailure({ names }: HeaderSource, what: string, cause?: unknown): UpstreamError {
  const failure = new Error(`the header source of ${names.join(', ')} ${what}`, { cause })
  return new UpstreamError('HEADERS_FAILED', 'there are no headers for the target', { cause: failure })
}
