import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Gateway } from 'sallyport'
import { firstValue } from 'sallyport/toolkit'
import { EndpointRewriter } from './endpoint-rewriter.js'
import type { Target } from './target.js'
import type { ResponseHead } from './transport.js'

const SEGMENT = '/.endpoint/'
// 128 bits in base64url.
const TAG_LENGTH = 22
const GATEWAY = 'http://gateway.invalid'
const ASCII = /^[\x20-\x7e]*$/

/**
 * In the HTTP+SSE transport of 2024-11-05 the target announces a path to post to, anywhere on its origin. The gateway
 * rewrites a path that it does not serve into one with a signature. So clients reach no other path of the target, and
 * every process of the gateway recognizes the path, also one that has not seen the announcement.
 */
export class AnnouncedPaths {
  private readonly key: Buffer
  private readonly prefix: string
  private readonly scope: string

  constructor(
    private readonly target: Target,
    private readonly gateway: Pick<Gateway, 'scope' | 'log' | 'keyFor'>,
    /** The prefix that a proxy in front removes: clients resolve references against paths with this prefix. */
    private readonly removed = '',
  ) {
    this.key = gateway.keyFor('announced endpoints')
    this.scope = gateway.scope
    this.prefix = gateway.scope + SEGMENT
  }

  /** The path of the target for a request to an announced path. */
  pathFor({ method, originalUrl }: FastifyRequest): string | undefined {
    // A browser sends a preflight with OPTIONS first.
    if (!originalUrl.startsWith(this.prefix) || (method !== 'POST' && method !== 'OPTIONS')) return undefined
    const start = this.prefix.length + TAG_LENGTH
    const path = originalUrl.slice(start)
    const tag = Buffer.from(originalUrl.slice(this.prefix.length, start))
    const expected = Buffer.from(this.tagOf(path))
    return tag.length === expected.length && timingSafeEqual(tag, expected) ? path : undefined
  }

  /** A rewriter if the response may be a stream of HTTP+SSE. Clients of newer transports name their session. */
  rewriterFor(request: FastifyRequest, head: ResponseHead, path: string): EndpointRewriter | undefined {
    const { method, headers, originalUrl } = request
    if (method !== 'GET' || head.status !== 200 || headers['mcp-session-id'] !== undefined) return undefined
    // A body with an announced length or a coding must stay as it is.
    const fixed = ['content-length', 'content-encoding'].some((name) => firstValue(head.headers, name))
    return fixed ? undefined : new EndpointRewriter((data) => this.endpointFor(data, path, originalUrl))
  }

  /** The endpoint for the client, instead of the one that the target announced at `path`. */
  private endpointFor(announced: string, path: string, originalUrl: string): string {
    const { target, gateway } = this
    const endpoint = target.pathOf(announced, path)
    if (endpoint === undefined) {
      gateway.log.warn(
        'the target announced an endpoint on another origin; the gateway passes it on unchanged',
      )
      return announced
    }
    const reachable = this.reachable(announced, endpoint, originalUrl)
    return reachable ?? this.removed + this.prefix + this.tagOf(endpoint) + endpoint
  }

  /** The head of a response from `path`. A `Location` that the gateway serves leads through the gateway. */
  headFor({ originalUrl }: FastifyRequest, head: ResponseHead, path: string): ResponseHead {
    if (head.status !== 201 && (head.status < 300 || head.status > 399)) return head
    const headers = head.headers.map((value, index, all) =>
      index % 2 === 1 && all[index - 1]?.toLowerCase() === 'location'
        ? this.locationFor(value, path, originalUrl)
        : value,
    )
    return { ...head, headers }
  }

  private locationFor(location: string, path: string, originalUrl: string): string {
    // Other bytes were read as latin1, and a URL would encode them wrongly.
    const to = ASCII.test(location) ? this.target.pathOf(location, path) : undefined
    if (to === undefined) return location
    const reachable = this.reachable(location, to, originalUrl)
    if (reachable === undefined || reachable === location) return location
    return reachable + (/#.*$/.exec(location)?.[0] ?? '')
  }

  /**
   * A reference that leads clients to this path of the target through the gateway, or undefined. The target's own
   * reference comes first.
   */
  private reachable(reference: string, path: string, originalUrl: string): string | undefined {
    const { removed, scope } = this
    return [reference, removed + scope + path].find((candidate) =>
      this.leadsTo(path, asClientsResolve(candidate, removed + originalUrl)),
    )
  }

  private leadsTo(endpoint: string, path: string | undefined): boolean {
    const { removed, scope } = this
    if (path === undefined || !path.startsWith(`${removed + scope}/`)) return false
    try {
      return this.target.pathFor(path.slice(removed.length)) === endpoint
    } catch {
      return false
    }
  }

  private tagOf(path: string): string {
    return createHmac('sha256', this.key).update(path).digest('base64url').slice(0, TAG_LENGTH)
  }
}

function asClientsResolve(reference: string, originalUrl: string): string | undefined {
  const base = URL.canParse(originalUrl, GATEWAY) ? new URL(originalUrl, GATEWAY) : undefined
  if (base === undefined || !URL.canParse(reference, base.href)) return undefined
  const { origin, pathname, search } = new URL(reference, base)
  return origin === base.origin ? pathname + search : undefined
}
