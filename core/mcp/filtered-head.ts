import { allValues, type FlatHeaders, firstValue } from '../http/flat-headers.js'
import type { ResponseHead } from './response.js'
import { ambiguousResponse, encodedResponse, partialResponse } from './response.js'

/** Throws for a response that cannot be searched for lists. */
export function checkReadable({ status, headers }: ResponseHead): void {
  if (PARTIAL.has(status)) throw partialResponse(status)
  const codings = [...allValues(headers, 'content-encoding'), ...allValues(headers, 'transfer-encoding')]
  if (!codings.every((coding) => PLAIN.has(coding.trim().toLowerCase()))) throw encodedResponse()
  const types = allValues(headers, 'content-type').map((type) => type.toLowerCase())
  // Some clients search for the type anywhere in the header, and fetch joins several headers to one.
  const isStream = types.some((type) => type.includes(EVENT_STREAM))
  if (isStream && !(types.length === 1 && types[0]?.startsWith(EVENT_STREAM))) throw ambiguousResponse()
}

/** The head of a response whose body changes; `length` is the new length, when it is known. */
export function changedHead(head: ResponseHead, length?: number): ResponseHead {
  const headers = aboutChanged(head.headers, length)
  return { ...head, headers }
}

/** The head of a response that may hold lists, and whose body stays. */
export function unchangedHead(head: ResponseHead): ResponseHead {
  const { headers } = head
  if (firstValue(headers, 'cache-control') === undefined) return head
  const changed = headers.map((text, index) =>
    index % 2 === 1 && headers[index - 1]?.toLowerCase() === 'cache-control' ? forOneCaller(text) : text,
  )
  return { ...head, headers: changed }
}

/** Headers or trailers without those that describe the bytes as the target sent them. */
export function aboutChanged(sent: readonly string[], length?: number): FlatHeaders {
  const kept: FlatHeaders = []
  for (let index = 0; index < sent.length; index += 2) {
    const name = sent[index] ?? ''
    const lower = name.toLowerCase()
    if (lower !== 'content-length') {
      const value = sent[index + 1] ?? ''
      if (lower === 'cache-control') kept.push(name, forOneCaller(value))
      else if (!ABOUT_BYTES.has(lower)) kept.push(name, value)
    } else if (length !== undefined && firstValue(kept, lower) === undefined) {
      kept.push(name, String(length))
    }
  }
  return kept
}

/** Policies filter for one caller: no shared cache may keep the response, whatever the target says. */
function forOneCaller(caching: string): string {
  const left = caching
    .split(',')
    .map((directive) => directive.trim())
    .filter((directive) => directive !== '' && !/^(?:public|s-maxage|private)\b/i.test(directive))
  return ['private', ...left].join(', ')
}

const EVENT_STREAM = 'text/event-stream'

// 226 carries a difference to an earlier response (RFC 3229), 304 no body at all.
const PARTIAL = new Set([206, 226, 304])

const PLAIN = new Set(['', 'identity', 'chunked'])

const ABOUT_BYTES = new Set([
  'etag',
  'last-modified',
  'accept-ranges',
  'content-md5',
  'digest',
  'repr-digest',
  'content-digest',
  'cdn-cache-control',
  'surrogate-control',
])
