import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Gateway, Refusal, type ResourceDocument } from 'sallyport'
import { z } from 'zod'
import { wellKnownPath } from './well-known.js'

const READ_METHODS = ['GET', 'HEAD']
const OTHER_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE']
const MAX_AGE = 300

// For the description of the API; responses are serialized already.
const SCHEMA: object = {
  summary: 'Where to get a token for this resource (RFC 9728)',
  tags: ['discovery'],
  response: {
    200: z.looseObject({
      resource: z.string().describe('the URL of the resource'),
      authorization_servers: z
        .array(z.string())
        .optional()
        .describe('the issuers of tokens for the resource'),
      bearer_methods_supported: z.array(z.string()).optional().describe('how to send a token'),
      scopes_supported: z.array(z.string()).optional().describe('scopes to request'),
      resource_documentation: z.string().optional().describe('documentation for people'),
    }),
  },
}

/** The routes of the document on the main port. The document is serialized once. */
export class MetadataRoutes {
  private body = ''

  constructor(gateway: Gateway, path: string) {
    const resourcePath = wellKnownPath(path.split('?', 1)[0] ?? '')
    const atRoot = wellKnownPath('')
    // The document of the root belongs to the plugin that protects the root.
    if (gateway.scope === '') {
      this.declare(gateway.root, atRoot)
      gateway.root.all('/.well-known/*', { config: { public: true } }, (_request, reply) =>
        reply.callNotFound(),
      )
      if (resourcePath !== atRoot) this.declare(gateway.root, resourcePath)
      return
    }
    // Where a proxy in front gives a scope a host of its own, clients look at the root of that host.
    this.declare(resourcePath === atRoot ? gateway.http : gateway.root, resourcePath)
  }

  publish(document: ResourceDocument): void {
    this.body = JSON.stringify(document)
  }

  private declare(http: Gateway['http'], path: string): void {
    const url = routePath(path)
    // Clients in browsers read the document before an operator could list their origin (RFC 9728, 3).
    const config = { public: true, anyOrigin: true }
    http.route({
      method: READ_METHODS,
      url,
      config,
      exposeHeadRoute: false,
      schema: SCHEMA,
      serializerCompiler: () => (data) => JSON.stringify(data),
      handler: (_, reply) => this.sendDocument(reply),
    })
    http.route({ method: 'OPTIONS', url, config, handler: preflight })
    http.route({ method: OTHER_METHODS, url, config, handler: notAllowed })
  }

  private sendDocument(reply: FastifyReply): FastifyReply {
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
const routePath = (path: string): string => decodeURI(path).replaceAll(':', '::')
