import { setTimeout } from 'node:timers/promises'
import { type Fetch, UpstreamError } from 'sallyport'

const ATTEMPTS = 4
const FIRST_DELAY = 500
/** Seconds: for a longer `Retry-After` the next sync is early enough. */
const MAX_RETRY_AFTER = 30
const TRANSIENT = new Set([408, 425, 429, 500, 502, 503, 504])
// Errors that a retry would meet again.
const PERMANENT =
  /^EGRESS_(?:URL_INVALID|PRIVATE_ADDRESS|INSECURE|REDIRECT|TOO_LARGE|TLS|BEARER_INVALID|CLOSED)$/

/** Retries transient failures a few times, with exponential backoff. */
export async function fetchWithRetry(
  fetch: Fetch,
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const result = await fetch(url, { headers, signal }).catch((error: unknown) => {
      signal.throwIfAborted()
      if (!(error instanceof UpstreamError) || PERMANENT.test(error.code)) throw error
      return error
    })
    if (!(result instanceof UpstreamError) && !TRANSIENT.has(result.status)) return result

    const requested =
      result instanceof UpstreamError ? undefined : retryAfter(result.headers.get('retry-after'))
    if (attempt === ATTEMPTS || (requested ?? 0) > MAX_RETRY_AFTER) {
      throw result instanceof UpstreamError ? result : statusError(url, result.status, requested)
    }
    const backoff = FIRST_DELAY * 2 ** (attempt - 1) * (0.75 + Math.random() / 2)
    await setTimeout(Math.max(backoff, (requested ?? 0) * 1_000), undefined, { signal })
  }
}

export function statusError(url: string, status: number, retryAfter?: number): UpstreamError {
  const message = `${new URL(url).origin} responded ${status}`
  return new UpstreamError('SOURCE_STATUS', message, { ...(retryAfter !== undefined && { retryAfter }) })
}

/** Seconds, from either format that the header has (RFC 9110, 10.2.3). */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 0), 86_400) : undefined
}
