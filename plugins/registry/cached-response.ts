import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

const gzipped = promisify(gzip)

const VARY = 'Authorization, Accept-Encoding'

// A smaller body fits into one packet anyway.
const MIN_COMPRESSED = 1_000
const ACCEPTS_GZIP = /(?:^|[\s,])gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i

/** A whole response, made once and sent often. */
export class CachedResponse {
  readonly etag: string
  private gzip: Buffer | Promise<Buffer> | undefined

  /** `tag` identifies the body. */
  constructor(
    readonly body: Buffer,
    tag: string,
  ) {
    // Weak, because it is the same for the compressed body (RFC 9110, 8.8.1).
    this.etag = `W/"${tag}"`
  }

  /** About its size in memory, the compressed body included. */
  get size(): number {
    return this.body.length * 1.5 + 500
  }

  send(
    request: FastifyRequest,
    reply: FastifyReply,
    cacheControl: string,
  ): FastifyReply | Promise<FastifyReply> {
    const { headers } = request
    reply.header('etag', this.etag)
    reply.header('cache-control', cacheControl)
    const vary = reply.getHeader('vary')
    reply.header('vary', vary === undefined ? VARY : `${String(vary)}, ${VARY}`)
    const match = headers['if-none-match']
    if (match !== undefined && this.matches(match)) return reply.code(304).send()

    reply.header('content-type', 'application/json; charset=utf-8')
    const encodings = headers['accept-encoding']
    const plain = this.body.length < MIN_COMPRESSED || encodings === undefined
    if (plain || !(encodings === 'gzip' || ACCEPTS_GZIP.test(encodings))) return reply.send(this.body)
    reply.header('content-encoding', 'gzip')
    return this.sendCompressed(reply)
  }

  private sendCompressed(reply: FastifyReply): FastifyReply | Promise<FastifyReply> {
    if (Buffer.isBuffer(this.gzip)) return reply.send(this.gzip)
    this.gzip ??= gzipped(this.body).then((bytes) => {
      this.gzip = bytes
      return bytes
    })
    return this.gzip.then((bytes) => reply.send(bytes))
  }

  private matches(header: string): boolean {
    if (header === this.etag || header === '*') return true
    const strong = this.etag.slice(2)
    return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === strong)
  }
}

/** An LRU cache of responses by URL. It lives as long as its snapshot. */
export class ResponseCache {
  private readonly responses = new Map<string, CachedResponse>()
  private size = 0

  constructor(private readonly maxBytes: number) {}

  get(url: string): CachedResponse | undefined {
    const response = this.responses.get(url)
    if (response === undefined) return undefined
    this.responses.delete(url)
    this.responses.set(url, response)
    return response
  }

  add(url: string, response: CachedResponse): void {
    const previous = this.responses.get(url)
    if (previous !== undefined) this.evict(url, previous)
    this.responses.set(url, response)
    this.size += sizeOf(url, response)
    for (const [oldest, old] of this.responses) {
      if (this.size <= this.maxBytes) break
      this.evict(oldest, old)
    }
  }

  private evict(url: string, response: CachedResponse): void {
    this.responses.delete(url)
    this.size -= sizeOf(url, response)
  }
}

const sizeOf = (url: string, { size }: CachedResponse): number => size + 2 * url.length
