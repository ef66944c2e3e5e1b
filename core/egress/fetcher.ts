import type { BaseLogger } from 'pino'
import type { Headers } from 'undici'
import { GatewayError, UpstreamError } from '../contract/errors.js'
import type { Fetch } from '../contract/fetch.js'
import type { Scrubber } from '../contract/scrubber.js'
import type { WatchedFile } from '../toolkit/files/watched-file.js'
import { type Secret, secretFrom } from '../toolkit/secret.js'
import { openCertificates } from './certificates.js'
import { Connections, type Undici } from './connections.js'
import { egressFailure, errorWithCode } from './failure.js'
import { completeResponse, type Deadline, deadline } from './limits.js'
import { type Environment, type ProxyChoice, proxyChoice } from './proxy-choice.js'
import { type Resolve, systemResolve } from './resolve.js'
import { isInsecure, parsedUrl, refuseForbidden } from './url-rules.js'

export interface FetcherOptions {
  /** PEM certificates to trust instead of Node's; read again when the file changes. */
  readonly caFile?: string | undefined
  /**
   * A token that the fetcher sends as `Authorization: Bearer`, unless the request has that header. `to` holds
   * origins and URLs, compared whole; the fetcher reads it at each request, so it may grow.
   */
  readonly bearer?: { readonly file: string; readonly to: Iterable<string> } | undefined
  readonly allowPrivate?: boolean | undefined
  readonly allowInsecureHttp?: boolean | undefined
  /** Milliseconds from the call to the last byte of the response. */
  readonly timeout?: number | undefined
  /** The most bytes that a response may have, counted after decoding. */
  readonly maxBytes?: number | undefined
  /** The caller needs no bodies: responses have none, and a body over the limit is no failure. */
  readonly discardsBody?: boolean | undefined
  /** The environment from which the fetcher reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY once. */
  readonly environment?: Environment | undefined
  readonly resolve?: Resolve | undefined
  readonly scrubber?: Scrubber | undefined
  readonly log?: Pick<BaseLogger, 'info' | 'warn'> | undefined
}

/**
 * `fetch` for providers: it resolves when the whole body is there, follows no redirect, and fails with an
 * `UpstreamError` whose code says what to do about it. Before the first request it opens nothing but the files.
 */
export interface Fetcher {
  readonly fetch: Fetch
  /** Closes every connection, also those in use. */
  close(): Promise<void>
}

/** Opens the files, so that a missing file fails here; all other work waits for the first request. */
export function createFetcher(options: FetcherOptions = {}): Fetcher {
  const { caFile, bearer, environment = process.env, log, scrubber } = options
  const proxyFor = proxyChoice(environment)
  const authorities = caFile === undefined ? undefined : openCertificates(caFile, log)
  try {
    const token = secretFrom({ file: bearer?.file }, { log, scrubber, check: refuseInvalidToken })
    const fetcher = new HttpFetcher(options, proxyFor, authorities, token)
    return { fetch: (url, init) => fetcher.fetch(url, init), close: () => fetcher.close() }
  } catch (error) {
    authorities?.close()
    throw error
  }
}

class HttpFetcher {
  private readonly timeout: number
  private readonly maxBytes: number
  private readonly open = new Set<Connections>()
  private current: Connections | undefined
  private warned = false
  private closed = false

  constructor(
    private readonly options: FetcherOptions,
    private readonly proxyFor: ProxyChoice,
    private readonly authorities: WatchedFile | undefined,
    private readonly token: Secret | undefined,
  ) {
    this.timeout = options.timeout ?? 5_000
    this.maxBytes = options.maxBytes ?? 1024 * 1024
    authorities?.onChange(() => this.retire())
  }

  async fetch(input: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = parsedUrl(input)
    refuseForbidden(url, this.options)
    this.warnOfPlainText(url)

    const limit = deadline(this.timeout, init.signal)
    try {
      return await this.send(url, init, limit)
    } catch (error) {
      if (limit.passed) throw egressFailure(url.origin, errorWithCode('EGRESS_TIMEOUT'))
      // An abort by the calling code rejects with its own reason, as with any `fetch`.
      init.signal?.throwIfAborted()
      throw error instanceof UpstreamError ? error : egressFailure(url.origin, error)
    } finally {
      limit.clear()
    }
  }

  async close(): Promise<void> {
    this.closed = true
    this.authorities?.close()
    this.token?.close()
    await Promise.all([...this.open].map((connections) => connections.close()))
  }

  private async send(url: URL, init: RequestInit, { signal }: Deadline): Promise<Response> {
    // Loaded here, because most commands never send a request.
    const { default: undici } = await import('undici')
    if (this.closed) throw errorWithCode('EGRESS_CLOSED')
    this.current ??= this.connect(undici)

    const response = await undici.fetch(url, {
      method: init.method ?? 'GET',
      body: requestBody(init.body),
      headers: this.headers(url, new undici.Headers(init.headers as [string, string][])),
      redirect: 'manual',
      signal,
      dispatcher: this.current.dispatcherFor(this.proxyFor(url)),
    })
    const { maxBytes, options } = this
    return completeResponse(response, { url, maxBytes, discardsBody: options.discardsBody === true }, undici)
  }

  private headers(url: URL, headers: Headers): Headers {
    if (!headers.has('user-agent')) headers.set('user-agent', 'sallyport')
    if (this.token === undefined || headers.has('authorization') || !this.mayReceiveToken(url)) return headers

    headers.set('authorization', `Bearer ${this.token.reveal()}`)
    return headers
  }

  private mayReceiveToken(url: URL): boolean {
    for (const entry of this.options.bearer?.to ?? []) {
      const allowed = parsedUrl(entry)
      const isOrigin = allowed.href === `${allowed.origin}/`
      if (isOrigin ? allowed.origin === url.origin : allowed.href === url.href) return true
    }
    return false
  }

  private connect(undici: Undici): Connections {
    const connections = new Connections(undici, {
      authorities: this.authorities?.text,
      allowPrivate: this.options.allowPrivate ?? false,
      resolve: this.options.resolve ?? systemResolve,
      timeout: this.timeout,
    })
    this.open.add(connections)
    return connections
  }

  private retire(): void {
    const old = this.current
    if (old === undefined) return
    this.current = undefined
    // After success and after failure alike, no connection is left to keep.
    const forget = () => this.open.delete(old)
    old.retire().then(forget, forget)
  }

  private warnOfPlainText(url: URL): void {
    if (this.warned || !isInsecure(url)) return
    this.warned = true
    this.options.log?.warn({ origin: url.origin }, 'provider is reached without TLS')
  }
}

// The error of `Headers` would quote the token.
function refuseInvalidToken(text: string, location: string): void {
  if (/^[\x21-\x7e]+$/.test(text)) return
  const message = `${location} holds no token: expected one line without white space`
  throw new GatewayError('EGRESS_BEARER_INVALID', message)
}

function requestBody(body: RequestInit['body']): string | Uint8Array | URLSearchParams | null {
  if (body === undefined || body === null || typeof body === 'string') return body ?? null
  if (body instanceof URLSearchParams || body instanceof Uint8Array) return body
  throw new TypeError('a request body is text, bytes or a form')
}
