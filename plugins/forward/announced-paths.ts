import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Gateway } from 'sallyport'
import { firstValue } from 'sallyport/toolkit'
import { EndpointRewriter } from './endpoint-rewriter.js'
import type { Target } from './target.js'
import type { ResponseHead } from './transport.js'

const MARK = '/.endpoint/'
// 128 bits in base64url.
const TAG_LENGTH = 22
const GATEWAY = 'http://gateway.invalid'
const ASCII = /^[\x20-\x7e]*$/

/**
 * The HTTP+SSE transport of 2024-11-05 has the target name a path to post to, anywhere on its origin. Outside of what
 * the gateway serves it becomes a path that carries a signature: nothing else out there can be reached, and every
 * process of this gateway knows it without having seen the announcement.
 */
export class AnnouncedPaths {
  private readonly key: Buffer
  private readonly prefix: string
  private readonly scope: string

  constructor(
    private readonly target: Target,
    private readonly gateway: Pick<Gateway, 'scope' | 'log' | 'keyFor'>,
    /** What a proxy in front removes: clients resolve references against paths that have it. */
    private readonly removed = '',
  ) {
    this.key = gateway.keyFor('announced endpoints')
    this.scope = gateway.scope
    this.prefix = gateway.scope + MARK
  }

  /** The path to request, for a request to a path that was announced. */
  pathFor({ method, originalUrl }: FastifyRequest): string | undefined {
    // A page in a browser asks with OPTIONS first.
    if (!originalUrl.startsWith(this.prefix) || (method !== 'POST' && method !== 'OPTIONS')) return undefined
    const start = this.prefix.length + TAG_LENGTH
    const path = originalUrl.slice(start)
    const tag = Buffer.from(originalUrl.slice(this.prefix.length, start))
    const expected = Buffer.from(this.tagOf(path))
    return tag.length === expected.length && timingSafeEqual(tag, expected) ? path : undefined
  }

  /** For a response that may be such a stream; a newer client names its session when it asks for a stream. */
  rewriterFor(request: FastifyRequest, head: ResponseHead, path: string): EndpointRewriter | undefined {
    const { method, headers, originalUrl } = request
    if (method !== 'GET' || head.status !== 200 || headers['mcp-session-id'] !== undefined) return undefined
    // A body of announced length or in a coding must stay as it is.
    const fixed = ['content-length', 'content-encoding'].some((name) => firstValue(head.headers, name))
    return fixed ? undefined : new EndpointRewriter((data) => this.endpointFor(data, path, originalUrl))
  }

  /** What the client is to be told, in place of what the target announced at `path`. */
  private endpointFor(announced: string, path: string, originalUrl: string): string {
    const { target, gateway } = this
    const endpoint = target.pathOf(announced, path)
    if (endpoint === undefined) {
      gateway.log.warn('the target announced an endpoint that is not on its own origin; it was left as it is')
      return announced
    }
    const reachable = this.reachable(announced, endpoint, originalUrl)
    return reachable ?? this.removed + this.prefix + this.tagOf(endpoint) + endpoint
  }

  /** The head of a response from `path`, in which a `Location` that is served here leads there through the gateway. */
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
    // Other bytes came as latin1: a URL would encode them as what they are not.
    const to = ASCII.test(location) ? this.target.pathOf(location, path) : undefined
    if (to === undefined) return location
    const reachable = this.reachable(location, to, originalUrl)
    if (reachable === undefined || reachable === location) return location
    return reachable + (/#.*$/.exec(location)?.[0] ?? '')
  }

  /** A reference that leads clients to this path of the target, if it is served here; as the target wrote it, if that does. */
  private reachable(reference: string, path: string, originalUrl: string): string | undefined {
    const { removed, scope } = this
    return [reference, removed + scope + path].find((each) =>
      this.leadsTo(path, asClientsResolve(each, removed + originalUrl)),
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
