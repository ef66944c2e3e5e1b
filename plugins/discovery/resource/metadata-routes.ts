import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Gateway, Refusal, type ResourceDocument } from 'sallyport'
import { wellKnownPath } from './place.js'

const READ = ['GET', 'HEAD']
const OTHERS = ['POST', 'PUT', 'PATCH', 'DELETE']
const MAX_AGE = 300

/** The places of the document on the main port. It is answered from text that was made once. */
export class MetadataRoutes {
  private body = ''

  constructor(gateway: Gateway, path: string) {
    const inserted = wellKnownPath(path.split('?', 1)[0] ?? '')
    const atRoot = wellKnownPath('')
    // The root's own place belongs to whoever protects the root.
    if (gateway.scope === '') {
      this.declare(gateway.root, atRoot)
      gateway.root.all('/.well-known/*', { config: { public: true } }, (_request, reply) =>
        reply.callNotFound(),
      )
      if (inserted !== atRoot) this.declare(gateway.root, inserted)
      return
    }
    // A scope that has a host of its own, by a proxy in front, is asked at the root of that host.
    this.declare(inserted === atRoot ? gateway.http : gateway.root, inserted)
  }

  publish(document: ResourceDocument): void {
    this.body = JSON.stringify(document)
  }

  private declare(http: Gateway['http'], path: string): void {
    const url = asRoute(path)
    const config = { public: true }
    http.route({
      method: READ,
      url,
      config,
      exposeHeadRoute: false,
      handler: (_, reply) => this.answer(reply),
    })
    http.route({ method: 'OPTIONS', url, config, handler: preflight })
    http.route({ method: OTHERS, url, config, handler: notAllowed })
  }

  private answer(reply: FastifyReply): FastifyReply {
    if (this.body === '') {
      throw new Refusal(503, 'STARTING', 'the address of this resource is not known yet', { retryAfter: 1 })
    }
    return reply
      .header('access-control-allow-origin', '*')
      .header('cache-control', `public, max-age=${MAX_AGE}`)
      .type('application/json; charset=utf-8')
      .send(this.body)
  }
}

function preflight(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return reply
    .code(204)
    .header('access-control-allow-origin', '*')
    .header('access-control-allow-methods', 'GET, HEAD')
    .header('access-control-allow-headers', '*')
    .header('access-control-max-age', MAX_AGE)
    .send()
}

function notAllowed(_request: FastifyRequest, reply: FastifyReply): never {
  reply.header('allow', 'GET, HEAD, OPTIONS')
  throw new Refusal(405, 'METHOD_NOT_ALLOWED', 'this document can only be read')
}

// The router compares decoded text, and takes a colon for a parameter.
const asRoute = (path: string): string => decodeURI(path).replaceAll(':', '::')
