import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

const gzipped = promisify(gzip)

const VARY = 'Authorization, Accept-Encoding'

// A smaller body fits into one packet without compression.
const MIN_COMPRESSED = 1_000
const ACCEPTS_GZIP = /(?:^|[\s,])gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))/i

/** A whole response, made once and sent often. */
export class CachedResponse {
  readonly etag: string
  /** Whether a request read the response since the cache last looked. */
  wasRead = false
  private gzip: Buffer | Promise<Buffer> | undefined

  /** `tag` identifies the body. */
  constructor(
    readonly body: Uint8Array,
    tag: string,
  ) {
    // A weak ETag, because the compressed body has the same one (RFC 9110, 8.8.1).
    this.etag = `W/"${tag}"`
  }

  /** The approximate size in memory, with the compressed body. */
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

/**
 * Caches responses by the parameters of the request, as long as the snapshot lives. A full cache evicts the oldest
 * responses that no request has read since the last eviction.
 */
export class ResponseCache {
  private readonly responses = new Map<string, CachedResponse>()
  private size = 0

  constructor(private readonly maxBytes: number) {}

  get(key: string): CachedResponse | undefined {
    const response = this.responses.get(key)
    if (response !== undefined) response.wasRead = true
    return response
  }

  /** Returns the response to send: the cached one when an equal request has made it meanwhile. */
  add(key: string, response: CachedResponse): CachedResponse {
    const earlier = this.responses.get(key)
    if (earlier !== undefined) return earlier
    const needed = sizeOf(key, response)
    if (needed > this.maxBytes) return response
    if (this.size + needed > this.maxBytes) this.makeRoom(needed)
    this.put(key, response)
    return response
  }

  // Evicts many at once: a map finds its oldest entry by stepping over all that were deleted before.
  private makeRoom(needed: number): void {
    const least = Math.min(this.maxBytes - needed, this.maxBytes * 0.98)
    for (const [key, response] of this.responses) {
      if (this.size <= least) break
      this.evict(key, response)
      if (!response.wasRead) continue
      response.wasRead = false
      this.put(key, response)
    }
  }

  private put(key: string, response: CachedResponse): void {
    this.responses.set(key, response)
    this.size += sizeOf(key, response)
  }

  private evict(key: string, response: CachedResponse): void {
    this.responses.delete(key)
    this.size -= sizeOf(key, response)
  }
}

const sizeOf = (key: string, { size }: CachedResponse): number => size + 2 * key.length
