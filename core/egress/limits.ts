import type { Response as UndiciResponse } from 'undici'
import { UpstreamError } from '../contract/errors.js'
import type { Undici } from './connections.js'
import { errorWithCode } from './failure.js'

const REDIRECTS = new Set([301, 302, 303, 307, 308])
const WITHOUT_BODY = new Set([204, 205, 304])

interface RequestLimits {
  readonly url: URL
  readonly maxBytes: number
  readonly discardsBody: boolean
}

/** The response with its whole body, decoded and within `maxBytes`. A redirect is an error. */
export async function completeResponse(
  response: UndiciResponse,
  { url, maxBytes, discardsBody }: RequestLimits,
  { Headers, Response: Complete }: Undici,
): Promise<Response> {
  const { status, statusText } = response
  if (REDIRECTS.has(status)) {
    await response.body?.cancel()
    throw new UpstreamError(
      'EGRESS_REDIRECT',
      `request to ${url.origin} failed: redirects (${status}) are not followed`,
    )
  }
  const body = await (discardsBody ? discarded : readWithin)(response.body, maxBytes)

  const headers = new Headers([...response.headers])
  if (headers.has('content-encoding')) {
    headers.delete('content-encoding')
    headers.delete('content-length')
  }
  const complete = new Complete(WITHOUT_BODY.has(status) ? null : body, { status, statusText, headers })
  // The types of undici and those of Node name the same things differently.
  return Object.defineProperty(complete, 'url', { value: url.href }) as unknown as Response
}

// Counts while it decodes, so that a decompression bomb costs `maxBytes` and not its decoded size.
async function readWithin(body: UndiciResponse['body'], maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw errorWithCode('EGRESS_TOO_LARGE')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

/** Reads the body up to the limit, so that the connection can be used again. Leaving the loop cancels the rest. */
async function discarded(body: UndiciResponse['body'], maxBytes: number): Promise<null> {
  let size = 0
  for await (const { byteLength } of body ?? []) {
    size += byteLength
    if (size > maxBytes) break
  }
  return null
}

export interface Deadline {
  readonly signal: AbortSignal
  readonly passed: boolean
  clear(): void
}

/** A signal that aborts after `milliseconds`, or with `other`; `clear` leaves neither timer nor listener. */
export function deadline(milliseconds: number, other: AbortSignal | null | undefined): Deadline {
  const controller = new AbortController()
  let passed = false
  const abort = () => controller.abort(other?.reason)
  const timer = setTimeout(() => {
    passed = true
    controller.abort(errorWithCode('EGRESS_TIMEOUT'))
  }, milliseconds)

  if (other?.aborted) abort()
  else other?.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    get passed() {
      return passed
    },
    clear() {
      clearTimeout(timer)
      other?.removeEventListener('abort', abort)
    },
  }
}
