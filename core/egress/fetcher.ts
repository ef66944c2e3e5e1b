import type { BaseLogger } from 'pino'
import type { Headers } from 'undici'
import { GatewayError, UpstreamError } from '../errors.js'
import type { WatchedFile } from '../files/watched-file.js'
import type { Scrubber } from '../log/scrubber.js'
import { type Secret, secretFrom } from '../secret.js'
import { openCertificates } from './certificates.js'
import { Connections } from './connections.js'
import { egressFailure, unreached } from './failure.js'
import { type Deadline, deadline, received } from './limits.js'
import { type Environment, type ProxyChoice, proxyChoice } from './proxy-choice.js'
import { type Resolve, systemResolve } from './resolve.js'
import { loadUndici, type Undici } from './undici.js'
import { isInsecure, parsedUrl, refuseForbidden } from './url-rules.js'

/** `fetch`, as far as talking to a provider needs it. `jose`, `oauth4webapi` and `openid-client` take it as theirs. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export interface FetcherOptions {
  /** PEM certificates to trust in place of Node's; read again when the file changes. */
  readonly caFile?: string | undefined
  /**
   * A token that is sent as `Authorization: Bearer`, unless the request has one of its own. `to` holds origins and
   * URLs, compared whole; it is asked at each request, so it may grow.
   */
  readonly bearer?: { readonly file: string; readonly to: Iterable<string> } | undefined
  readonly allowPrivate?: boolean | undefined
  readonly allowInsecureHttp?: boolean | undefined
  /** Milliseconds from the call to the last byte of the answer. */
  readonly timeout?: number | undefined
  /** The most bytes that an answer may have, counted after decoding. */
  readonly maxBytes?: number | undefined
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are read, once. */
  readonly environment?: Environment | undefined
  readonly resolve?: Resolve | undefined
  readonly scrubber?: Scrubber | undefined
  readonly log?: Pick<BaseLogger, 'info' | 'warn'> | undefined
}

/**
 * The way out to providers. `fetch` answers when the whole body is there, follows no redirect, and fails with an
 * `UpstreamError` whose code says what to do about it. Nothing is opened before the first request but the files.
 */
export interface Fetcher {
  readonly fetch: Fetch
  /** Ends every connection, also those in use. */
  close(): Promise<void>
}

/** Opens the files, so one that is missing fails here; everything else waits for the first request. */
export function createFetcher(options: FetcherOptions = {}): Fetcher {
  const { caFile, bearer, environment = process.env, log, scrubber } = options
  const proxyFor = proxyChoice(environment)
  const authorities = caFile === undefined ? undefined : openCertificates(caFile, log)
  try {
    const token = secretFrom({ file: bearer?.file }, { log, scrubber, check: refuseNoToken })
    const outbound = new Outbound(options, proxyFor, authorities, token)
    return { fetch: (url, init) => outbound.fetch(url, init), close: () => outbound.close() }
  } catch (error) {
    authorities?.close()
    throw error
  }
}

class Outbound {
  readonly #options: FetcherOptions
  readonly #proxyFor: ProxyChoice
  readonly #authorities: WatchedFile | undefined
  readonly #token: Secret | undefined
  readonly #timeout: number
  readonly #maxBytes: number
  readonly #open = new Set<Connections>()
  #current: Connections | undefined
  #undici: Undici | undefined
  #warned = false
  #closed = false

  constructor(
    options: FetcherOptions,
    proxyFor: ProxyChoice,
    authorities: WatchedFile | undefined,
    token: Secret | undefined,
  ) {
    this.#options = options
    this.#proxyFor = proxyFor
    this.#authorities = authorities
    this.#token = token
    this.#timeout = options.timeout ?? 5_000
    this.#maxBytes = options.maxBytes ?? 1024 * 1024
    authorities?.onChange(() => this.#retire())
  }

  async fetch(input: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = parsedUrl(input)
    refuseForbidden(url, this.#options)
    this.#warnOfPlainText(url)

    const limit = deadline(this.#timeout, init.signal)
    try {
      return await this.#exchange(url, init, limit)
    } catch (error) {
      if (limit.passed) throw egressFailure(url.origin, unreached('EGRESS_TIMEOUT'))
      // What the caller ended is the caller's own error, as with any `fetch`.
      init.signal?.throwIfAborted()
      throw error instanceof UpstreamError ? error : egressFailure(url.origin, error)
    } finally {
      limit.clear()
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#authorities?.close()
    this.#token?.close()
    await Promise.all([...this.#open].map((connections) => connections.close()))
  }

  async #exchange(url: URL, init: RequestInit, { signal }: Deadline): Promise<Response> {
    // Loaded here, because most commands never make a request.
    this.#undici ??= loadUndici()
    const undici = this.#undici
    if (this.#closed) throw unreached('EGRESS_CLOSED')
    this.#current ??= this.#connect(undici)

    const response = await undici.fetch(url, {
      method: init.method ?? 'GET',
      body: requestBody(init.body),
      headers: this.#headers(url, new undici.Headers(init.headers as [string, string][])),
      redirect: 'manual',
      signal,
      dispatcher: this.#current.through(this.#proxyFor(url)),
    })
    return received(response, { url, maxBytes: this.#maxBytes }, undici)
  }

  #headers(url: URL, headers: Headers): Headers {
    if (!headers.has('user-agent')) headers.set('user-agent', 'sallyport')
    if (this.#token === undefined || headers.has('authorization') || !this.#mayHaveToken(url)) return headers

    headers.set('authorization', `Bearer ${this.#token.reveal()}`)
    return headers
  }

  #mayHaveToken(url: URL): boolean {
    for (const entry of this.#options.bearer?.to ?? []) {
      const allowed = parsedUrl(entry)
      const isOrigin = allowed.href === `${allowed.origin}/`
      if (isOrigin ? allowed.origin === url.origin : allowed.href === url.href) return true
    }
    return false
  }

  #connect(undici: Undici): Connections {
    const connections = new Connections(undici, {
      authorities: this.#authorities?.text,
      allowPrivate: this.#options.allowPrivate ?? false,
      resolve: this.#options.resolve ?? systemResolve,
      timeout: this.#timeout,
    })
    this.#open.add(connections)
    return connections
  }

  #retire(): void {
    const old = this.#current
    if (old === undefined) return
    this.#current = undefined
    // Failing to end is failing to be open: either way there is nothing left to hold.
    const forget = () => this.#open.delete(old)
    old.retire().then(forget, forget)
  }

  #warnOfPlainText(url: URL): void {
    if (this.#warned || !isInsecure(url)) return
    this.#warned = true
    this.#options.log?.warn({ origin: url.origin }, 'provider is reached without TLS')
  }
}

// `Headers` would quote it in its complaint.
function refuseNoToken(text: string, place: string): void {
  if (/^[\x21-\x7e]+$/.test(text)) return
  const message = `${place} holds no token: one line without white space is expected`
  throw new GatewayError('EGRESS_BEARER_INVALID', message)
}

function requestBody(body: RequestInit['body']): string | Uint8Array | URLSearchParams | null {
  if (body === undefined || body === null || typeof body === 'string') return body ?? null
  if (body instanceof URLSearchParams || body instanceof Uint8Array) return body
  throw new TypeError('a request body is text, bytes or a form')
}
