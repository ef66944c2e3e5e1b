import type { Examination, Fetch, Gateway } from 'sallyport'
import { createFetcher, type Fetcher, insecureHttpAllowed, messageOf } from 'sallyport/toolkit'
import type { Delivered } from '../delivery.js'
import type { Lines } from '../lines.js'
import type { HttpOptions } from './options.js'

/** Milliseconds that one request may take. */
const TIMEOUT = 10_000
/** Nobody reads the answer. */
const MAX_ANSWER = 64 * 1024
/** Milliseconds: a longer `Retry-After` is cut. */
const LONGEST_WAIT = 300_000

type Surroundings = Pick<Examination, 'path'> & Partial<Pick<Gateway, 'log' | 'scrubber'>>

/** Opens the files that the options name. */
export function fetcherFor({ path, log, scrubber }: Surroundings, options: HttpOptions): Fetcher {
  const { url, bearerTokenFile, caCertPath, allowPrivateIP } = options
  return createFetcher({
    caFile: path(caCertPath),
    bearer: bearerTokenFile === undefined ? undefined : { file: path(bearerTokenFile), to: [url] },
    allowPrivate: allowPrivateIP,
    allowInsecureHttp: insecureHttpAllowed(),
    timeout: TIMEOUT,
    maxBytes: MAX_ANSWER,
    discardsBody: true,
    scrubber,
    log,
  })
}

/** What a request with these lines is. */
export function requestOf({ headers, format }: HttpOptions, lines: string) {
  const isArray = format === 'array'
  return {
    method: 'POST',
    headers: { 'content-type': isArray ? 'application/json' : 'application/x-ndjson', ...headers },
    body: isArray ? `[${lines.trimEnd().replaceAll('\n', ',\n')}]` : lines,
  }
}

/** Sends lines, all of them in one request. */
export async function send(
  fetch: Fetch,
  options: HttpOptions,
  { bytes, lengths }: Lines,
  signal: AbortSignal,
): Promise<Delivered> {
  try {
    const { status, headers } = await fetch(options.url, { ...requestOf(options, bytes.toString()), signal })
    const reason = `the receiver answers ${status}`
    if (status >= 200 && status < 300) return { stored: lengths.length }
    if (status >= 400 && status < 500 && !PASSING.has(status)) return { stored: 0, refused: reason }
    return { stored: 0, failure: { reason, retryAfter: retryAfter(headers.get('retry-after')) } }
  } catch (error) {
    return { stored: 0, failure: { reason: messageOf(error) } }
  }
}

/** What may be over soon; a token is renewed in its file. */
const PASSING = new Set([401, 403, 408, 429])

/** Milliseconds, from either format that the header has (RFC 9110, 10.2.3). */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const milliseconds = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return milliseconds > 0 ? Math.min(milliseconds, LONGEST_WAIT) : undefined
}
