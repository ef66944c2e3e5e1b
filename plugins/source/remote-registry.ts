import { type Fetch, type Fetched, type SyncContext, UpstreamError } from 'sallyport'
import { z } from 'zod'
import { persistently, unanswered } from './retry.js'

export interface RemoteOptions {
  readonly fetch: Fetch
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds for which it is enough to ask what changed. */
  readonly wholeEvery: number
  /** Of all pages together. */
  readonly maxBytes: number
}

const PAGE_SIZE = 100
const MOST_PAGES = 100_000
/** Clocks and commits over there are not in step to the second. */
const OVERLAP = 60_000

/** What one sync leaves for the next. */
const bookmarkShape = z.object({
  /** The youngest change that was seen, by the clock over there. */
  since: z.number().optional(),
  wholeAt: z.number(),
  /** Of an answer that was one page: only then does it speak for all of it. */
  etag: z.string().optional(),
  url: z.string().optional(),
})

type Bookmark = z.output<typeof bookmarkShape>

const OFFICIAL = 'io.modelcontextprotocol.registry/official'
const official = z.object({ updatedAt: z.string().optional() })
const page = z.object({
  servers: z.array(z.object({ _meta: z.object({ [OFFICIAL]: official.optional() }).optional() })),
  metadata: z.object({ nextCursor: z.string().nullish() }).optional(),
})

interface Page {
  readonly bytes: Uint8Array
  readonly count: number
  readonly youngest: number | undefined
  readonly next: string | undefined
}

/** Another registry, read page by page. */
export class RemoteRegistry {
  constructor(
    private readonly base: string,
    private readonly options: RemoteOptions,
  ) {}

  async read({ signal, bookmark, held }: SyncContext): Promise<Fetched> {
    const last = bookmark === undefined ? undefined : bookmarkShape.safeParse(JSON.parse(bookmark)).data
    const since = last === undefined ? undefined : this.changesSince(last)
    const url = this.urlFor(since)
    const known = last?.url === url ? last.etag : undefined
    const first = await this.ask(url, signal, known)
    if (first.status === 304) return { kind: 'unchanged' }

    const seen: Seen = { count: 0, bytes: 0, youngest: last?.since, pages: 0 }
    const wholeAt = since === undefined ? Date.now() : (last?.wholeAt ?? 0)
    const etag = first.headers.get('etag') ?? undefined
    return {
      kind: since === undefined ? 'whole' : 'changes',
      payloads: this.pages(first, url, seen, signal, since === undefined && held > 0),
      bookmark: () => {
        const spoken = seen.pages === 1 && etag !== undefined ? { etag, url } : {}
        const left: Bookmark = { since: seen.youngest, wholeAt, ...spoken }
        return JSON.stringify(left)
      },
    }
  }

  /** From when on changes are enough; nothing when it is time to read all of it. */
  private changesSince({ since, wholeAt }: Bookmark): number | undefined {
    if (since === undefined || Date.now() - wholeAt >= this.options.wholeEvery) return undefined
    return since - OVERLAP
  }

  private urlFor(since: number | undefined): string {
    const query = new URLSearchParams({ limit: String(PAGE_SIZE) })
    if (since !== undefined) query.set('updated_since', new Date(since).toISOString())
    return `${this.base}/v0.1/servers?${query}`
  }

  private ask(url: string, signal: AbortSignal, etag?: string): Promise<Response> {
    const { fetch, headers } = this.options
    const condition = etag !== undefined && { 'if-none-match': etag }
    return persistently(fetch, url, { accept: 'application/json', ...headers, ...condition }, signal)
  }

  private async *pages(
    first: Response,
    url: string,
    seen: Seen,
    signal: AbortSignal,
    mustHoldSomething: boolean,
  ): AsyncGenerator<Uint8Array> {
    const cursors = new Set<string>()
    let response = first
    for (;;) {
      const { bytes, count, youngest, next } = await this.pageOf(response)
      seen.pages++
      seen.count += count
      seen.bytes += bytes.length
      const { maxBytes } = this.options
      if (seen.bytes > maxBytes) throw this.nonsense(`its pages have more than ${maxBytes} bytes`)
      if (youngest !== undefined) seen.youngest = Math.max(seen.youngest ?? youngest, youngest)
      yield bytes
      if (next === undefined) break
      if (cursors.has(next) || seen.pages === MOST_PAGES)
        throw this.nonsense('its pages go round in a circle')
      cursors.add(next)
      const following = new URL(url)
      following.searchParams.set('cursor', next)
      response = await this.ask(following.href, signal)
    }
    // An empty registry where there was a full one is more likely a fault over there than the truth.
    if (mustHoldSomething && seen.count === 0) throw this.nonsense('it has become empty; what it had is kept')
  }

  private async pageOf(response: Response): Promise<Page> {
    if (response.status !== 200) throw unanswered(this.base, response.status)
    const bytes = new Uint8Array(await response.arrayBuffer())
    let value: unknown
    try {
      value = JSON.parse(Buffer.from(bytes).toString('utf8'))
    } catch {
      throw this.nonsense('the answer is not JSON')
    }
    const read = page.safeParse(value)
    if (!read.success) throw this.nonsense('the answer is no page of a registry')
    const { servers, metadata } = read.data
    const dates = servers.map(({ _meta }) => Date.parse(_meta?.[OFFICIAL]?.updatedAt ?? ''))
    // A date in the future would hide every change until then.
    const known = dates.filter((date) => date <= Date.now())
    const next = metadata?.nextCursor ?? ''
    return {
      bytes,
      count: servers.length,
      youngest: known.length === 0 ? undefined : Math.max(...known),
      next: next === '' ? undefined : next,
    }
  }

  private nonsense(what: string): UpstreamError {
    return new UpstreamError('SOURCE_NONSENSE', `${new URL(this.base).origin}: ${what}`)
  }
}

interface Seen {
  count: number
  bytes: number
  pages: number
  youngest: number | undefined
}
