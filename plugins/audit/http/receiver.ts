import type { Examination, Fetch, Gateway } from 'sallyport'
import { createFetcher, type Fetcher, insecureHttpAllowed, messageOf } from 'sallyport/toolkit'
import type { DeliveryResult } from '../delivery.js'
import type { Lines } from '../lines.js'
import type { HttpOptions } from './options.js'

/** Milliseconds that one request may take. */
const TIMEOUT = 10_000
/** The gateway discards the body of the response. */
const MAX_RESPONSE = 64 * 1024
/** Milliseconds: a longer `Retry-After` is shortened to this. */
const LONGEST_WAIT = 300_000

type FetcherContext = Pick<Examination, 'path'> & Partial<Pick<Gateway, 'log' | 'scrubber'>>

/** Opens the files that the options name. */
export function fetcherFor({ path, log, scrubber }: FetcherContext, options: HttpOptions): Fetcher {
  const { url, bearerTokenFile, caCertPath, allowPrivateIP } = options
  return createFetcher({
    caFile: path(caCertPath),
    bearer: bearerTokenFile === undefined ? undefined : { file: path(bearerTokenFile), to: [url] },
    allowPrivate: allowPrivateIP,
    allowInsecureHttp: insecureHttpAllowed(),
    timeout: TIMEOUT,
    maxBytes: MAX_RESPONSE,
    discardsBody: true,
    scrubber,
    log,
  })
}

/** The request that carries these lines. */
export function requestOf({ headers, format }: HttpOptions, lines: string) {
  const isArray = format === 'array'
  return {
    method: 'POST',
    headers: { 'content-type': isArray ? 'application/json' : 'application/x-ndjson', ...headers },
    body: isArray ? `[${lines.trimEnd().replaceAll('\n', ',\n')}]` : lines,
  }
}

/** Sends all lines in one request. */
export async function send(
  fetch: Fetch,
  options: HttpOptions,
  { bytes, lengths }: Lines,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  try {
    const { status, headers } = await fetch(options.url, { ...requestOf(options, bytes.toString()), signal })
    const reason = `the receiver responds with ${status}`
    if (status >= 200 && status < 300) return { stored: lengths.length }
    if (status >= 400 && status < 500 && !TEMPORARY.has(status)) return { stored: 0, refused: reason }
    return { stored: 0, failure: { reason, retryAfter: retryAfter(headers.get('retry-after')) } }
  } catch (error) {
    return { stored: 0, failure: { reason: messageOf(error) } }
  }
}

/** Refusals that may end soon: a new token may come into its file. */
const TEMPORARY = new Set([401, 403, 408, 429])

/** Milliseconds, from either format of the header (RFC 9110, 10.2.3). */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const milliseconds = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return milliseconds > 0 ? Math.min(milliseconds, LONGEST_WAIT) : undefined
}
