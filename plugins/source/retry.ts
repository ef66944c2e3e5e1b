import { setTimeout } from 'node:timers/promises'
import { type Fetch, UpstreamError } from 'sallyport'

const ATTEMPTS = 4
const FIRST_WAIT = 500
/** Whoever asks for more is left in peace until the next sync. */
const LONGEST_WAIT = 30
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504])
// What is as it is: another try meets the same.
const LASTING =
  /^EGRESS_(?:URL_INVALID|PRIVATE_ADDRESS|INSECURE|REDIRECT|TOO_LARGE|TLS|BEARER_INVALID|CLOSED)$/

/** Asks until there is an answer worth having, a few times, later each time. */
export async function persistently(
  fetch: Fetch,
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Response> {
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(url, { headers, signal }).catch((error: unknown) => {
      signal.throwIfAborted()
      if (!(error instanceof UpstreamError) || LASTING.test(error.code)) throw error
      return error
    })
    if (!(answer instanceof UpstreamError) && !PASSING.has(answer.status)) return answer

    const asked = answer instanceof UpstreamError ? undefined : retryAfter(answer.headers.get('retry-after'))
    if (attempt === ATTEMPTS || (asked ?? 0) > LONGEST_WAIT) {
      throw answer instanceof UpstreamError ? answer : unanswered(url, answer.status, asked)
    }
    const backOff = FIRST_WAIT * 2 ** (attempt - 1) * (0.75 + Math.random() / 2)
    await setTimeout(Math.max(backOff, (asked ?? 0) * 1_000), undefined, { signal })
  }
}

export function unanswered(url: string, status: number, retryAfter?: number): UpstreamError {
  const message = `${new URL(url).origin} answered ${status}`
  return new UpstreamError('SOURCE_STATUS', message, { ...(retryAfter !== undefined && { retryAfter }) })
}

/** Seconds, from either form that the header has (RFC 9110, 10.2.3). */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 0), 86_400) : undefined
}
