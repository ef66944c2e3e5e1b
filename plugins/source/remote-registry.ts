import { setTimeout } from 'node:timers/promises'
import { type Fetch, type FetchResult, type SyncContext, UpstreamError } from 'sallyport'
import { OFFICIAL } from 'sallyport/toolkit'
import { z } from 'zod'
import { type Path, walkJson } from './json-walk.js'

interface RemoteOptions {
  readonly fetch: Fetch
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds for which requests for changes are enough; after that the source reads everything. */
  readonly wholeEvery: number
  /** The most bytes of all pages together. */
  readonly maxBytes: number
}

const PAGE_SIZE = 100
// A registry may refuse a parameter that it does not know.
const REFUSED = new Set([400, 422])
const MAX_PAGES = 100_000
/** Milliseconds of overlap: the remote registry's clocks differ, and it may commit a change after its date. */
const OVERLAP = 60_000

/** The state that one sync saves for the next. */
const bookmarkShape = z.object({
  /** The latest change so far, by the remote clock. */
  since: z.number().optional(),
  wholeAt: z.number(),
  /** Set when everything fits into one page: only then is the ETag one of everything. */
  etag: z.string().optional(),
  url: z.string().optional(),
})

type Bookmark = z.output<typeof bookmarkShape>

// The depth of the values read from a page: `servers`, a server, `_meta`, `OFFICIAL`, `updatedAt`.
const DEPTH = 5

interface Page {
  readonly bytes: Uint8Array
  readonly count: number
  readonly latest: number | undefined
  readonly next: string | undefined
}

/** Another registry, read page by page. */
export class RemoteRegistry {
  /** The time of the last whole read, by the monotonic clock. */
  private whole: { readonly wholeAt: number; readonly at: number } | undefined

  constructor(
    private readonly base: string,
    private readonly options: RemoteOptions,
  ) {}

  async read({ signal, bookmark, held }: SyncContext): Promise<FetchResult> {
    const last = bookmark === undefined ? undefined : bookmarkShape.safeParse(JSON.parse(bookmark)).data
    const since = last === undefined ? undefined : this.changesSince(last)
    const open = async (url: string) => {
      const known = last?.url === url ? last.etag : undefined
      return { url, first: await this.request(url, signal, known) }
    }
    let { url, first } = await open(this.urlFor(since, { include_deleted: 'true' }))
    if (REFUSED.has(first.status)) {
      await first.body?.cancel()
      ;({ url, first } = await open(this.urlFor(since)))
    }
    if (first.status === 304) return { kind: 'unchanged' }

    const seen: Progress = { count: 0, bytes: 0, latest: last?.since, pages: 0 }
    const wholeAt = since === undefined ? Date.now() : (last?.wholeAt ?? 0)
    if (since === undefined) this.whole = { wholeAt, at: performance.now() }
    const etag = first.headers.get('etag') ?? undefined
    return {
      kind: since === undefined ? 'whole' : 'changes',
      payloads: this.pages(first, url, seen, signal, since === undefined && held > 0),
      bookmark: () => {
        const condition = seen.pages === 1 && etag !== undefined ? { etag, url } : {}
        const next: Bookmark = { since: seen.latest, wholeAt, ...condition }
        return JSON.stringify(next)
      },
    }
  }

  /** Returns `updated_since` of the next request; undefined when it is time to read everything. */
  private changesSince({ since, wholeAt }: Bookmark): number | undefined {
    if (since === undefined || this.age(wholeAt) >= this.options.wholeEvery) return undefined
    return since - OVERLAP
  }

  /** Milliseconds since a date that this or an earlier process saved; infinite for a date in the future. */
  private age(wholeAt: number): number {
    if (this.whole?.wholeAt === wholeAt) return performance.now() - this.whole.at
    const age = Date.now() - wholeAt
    if (age < 0) return Number.POSITIVE_INFINITY
    this.whole = { wholeAt, at: performance.now() - age }
    return age
  }

  private urlFor(since: number | undefined, more: Readonly<Record<string, string>> = {}): string {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE), ...more })
    if (since !== undefined) query.set('updated_since', new Date(since).toISOString())
    return `${this.base}/v0.1/servers?${query}`
  }

  private request(url: string, signal: AbortSignal, etag?: string): Promise<Response> {
    const { fetch, headers } = this.options
    const condition = etag !== undefined && { 'if-none-match': etag }
    return fetchWithRetry(fetch, url, { accept: 'application/json', ...headers, ...condition }, signal)
  }

  private async *pages(
    first: Response,
    url: string,
    seen: Progress,
    signal: AbortSignal,
    mustNotBeEmpty: boolean,
  ): AsyncGenerator<Uint8Array> {
    const cursors = new Set<string>()
    let response = first
    for (;;) {
      const { bytes, count, latest, next } = await this.pageOf(response)
      seen.pages++
      seen.count += count
      seen.bytes += bytes.length
      const { maxBytes } = this.options
      if (seen.bytes > maxBytes) throw this.invalidResponse(`its pages have more than ${maxBytes} bytes`)
      if (latest !== undefined) seen.latest = Math.max(seen.latest ?? latest, latest)
      yield bytes
      if (next === undefined) break
      if (cursors.has(next) || seen.pages === MAX_PAGES) throw this.invalidResponse('its pages repeat')
      cursors.add(next)
      const following = new URL(url)
      following.searchParams.set('cursor', next)
      response = await this.request(following.href, signal)
    }
    // A registry that is suddenly empty is more likely a fault than a real change.
    if (mustNotBeEmpty && seen.count === 0)
      throw this.invalidResponse('it has become empty; its earlier contents are kept')
  }

  private async pageOf(response: Response): Promise<Page> {
    if (response.status !== 200) throw statusError(this.base, response.status)
    const bytes = new Uint8Array(await response.arrayBuffer())
    let isPage = false
    let count = 0
    let next = ''
    let latest: number | undefined
    // Makes no objects of the page, and stops reading a page with too many servers.
    const walk = walkJson(bytes, DEPTH, (path, kind, text) => {
      const [first, second] = path
      if (path.length === 1 && first === 'servers') isPage = kind === 'list'
      if (path.length === 2 && first === 'servers' && ++count > PAGE_SIZE) throw this.tooMany()
      if (first === 'metadata' && second === 'nextCursor') next = this.cursorIn(text())
      if (first !== 'servers' || !isDate(path)) return
      const date = Date.parse(text().slice(1, -1))
      // A date in the future would hide every change until then.
      if (date <= Date.now()) latest = Math.max(latest ?? date, date)
    })
    await walk.catch((error: unknown) => {
      throw error instanceof SyntaxError ? this.invalidResponse('the response is not JSON') : error
    })
    if (!isPage) throw this.invalidResponse('the response is not a page of a registry')
    return { bytes, count, latest, next: next === '' ? undefined : next }
  }

  private cursorIn(text: string): string {
    if (text === 'null') return ''
    if (text.startsWith('"')) return String(JSON.parse(text))
    throw this.invalidResponse('its nextCursor is not a string')
  }

  private tooMany(): UpstreamError {
    return this.invalidResponse(`a page has more than the ${PAGE_SIZE} servers of its limit`)
  }

  private invalidResponse(what: string): UpstreamError {
    return new UpstreamError('SOURCE_NONSENSE', `${new URL(this.base).origin}: ${what}`)
  }
}

interface Progress {
  count: number
  bytes: number
  pages: number
  latest: number | undefined
}

const isDate = ([, , meta, owner, field]: Path): boolean =>
  meta === '_meta' && owner === OFFICIAL && field === 'updatedAt'

const ATTEMPTS = 4
const FIRST_DELAY = 500
/** Seconds: after a longer `Retry-After`, the next sync is early enough. */
const MAX_RETRY_AFTER = 30
const TRANSIENT = new Set([408, 425, 429, 500, 502, 503, 504])
// Errors that a retry would not change.
const PERMANENT =
  /^EGRESS_(?:URL_INVALID|PRIVATE_ADDRESS|INSECURE|REDIRECT|TOO_LARGE|TLS|BEARER_INVALID|CLOSED)$/

/** Retries transient failures a few times, with exponential backoff. */
async function fetchWithRetry(
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

function statusError(url: string, status: number, retryAfter?: number): UpstreamError {
  const message = `${new URL(url).origin} responded ${status}`
  return new UpstreamError('SOURCE_STATUS', message, { ...(retryAfter !== undefined && { retryAfter }) })
}

/** Seconds, from either format of the header (RFC 9110, 10.2.3). */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1_000
  return Number.isFinite(seconds) ? Math.min(Math.max(Math.ceil(seconds), 0), 86_400) : undefined
}
