import type { FastifyRequest } from 'fastify'
import { type HeaderSource, isPromise, type OutgoingHeaders, UpstreamError } from 'sallyport'

/** What a source adds to a request. One that breaks its contract keeps the request in, and is told in the log. */
export function headersOf(source: HeaderSource, request: FastifyRequest): OutgoingHeaders {
  let answer: unknown
  try {
    answer = source.headers(request)
  } catch (cause) {
    throw broken(source, 'failed', cause)
  }
  if (!Array.isArray(answer)) {
    if (!isPromise(answer)) throw broken(source, 'did not answer with a list')
    // Nobody else would be there to hear that it failed, which ends the process.
    answer.then(undefined, () => {})
    throw broken(source, 'answered with a promise: headers are given at once')
  }
  for (const header of answer) {
    if (!isPair(header)) throw broken(source, 'answered with something that is no pair of texts')
    // The caller's own copy of a name that was not declared has not been removed.
    if (!source.names.includes(header[0]))
      throw broken(source, 'answered with a name that is not in its `names`')
  }
  return answer
}

const isPair = (header: unknown): header is OutgoingHeaders[number] =>
  Array.isArray(header) && typeof header[0] === 'string' && typeof header[1] === 'string'

function broken({ names }: HeaderSource, what: string, cause?: unknown): UpstreamError {
  const failure = new Error(`the header source of ${names.join(', ')} ${what}`, { cause })
  return new UpstreamError('HEADERS_FAILED', 'there are no headers for the target', { cause: failure })
}
