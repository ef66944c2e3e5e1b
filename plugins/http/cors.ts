import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { definePlugin, Guard } from 'sallyport'
import { z } from 'zod'

// Written by hand, since @fastify/cors decides by its own list of origins. Here the guards have decided.
export default definePlugin({
  name: 'http/cors',
  api: 1,
  summary:
    'Lets pages in browsers read the responses (CORS), if their origin has passed the guards before it in the list.',
  provides: [Guard],
  options: z.strictObject({
    exposed: z
      .array(z.string())
      .default(['WWW-Authenticate', 'Mcp-Session-Id', 'Mcp-Protocol-Version'])
      .describe('response headers that a page may read'),
    maxAge: z.int().nonnegative().default(600).describe('seconds that a browser may cache a preflight'),
  }),

  async setup(gateway, { exposed, maxAge }) {
    // Requests whose origin the guards before this one allowed: only their responses get CORS headers.
    const passed = new WeakSet<FastifyRequest>()
    gateway.provide(Guard, (request) => {
      if (request.headers.origin !== undefined) passed.add(request)
    })
    const addCorsHeaders = (request: FastifyRequest, reply: FastifyReply): void => {
      const { origin } = request.headers
      if (origin === undefined || !passed.has(request) || reply.hasHeader('access-control-allow-origin'))
        return
      reply
        .header('access-control-allow-origin', origin)
        .header('access-control-expose-headers', exposed.join(', '))
      addVary(reply)
    }
    // `onRequest` covers responses that a handler writes without Fastify; `onSend` also covers earlier errors, as a
    // 401.
    gateway.http.addHook('onRequest', (request, reply, done) => {
      addCorsHeaders(request, reply)
      done()
    })
    gateway.http.addHook('onSend', (request, reply, payload, done) => {
      addCorsHeaders(request, reply)
      // Otherwise a cache could give a page the response to a request without an origin (Fetch, "CORS protocol and HTTP
      // caches").
      if (request.headers.origin === undefined && !reply.hasHeader('access-control-allow-origin'))
        addVary(reply)
      done(null, payload)
    })
    answerPreflights(gateway.http, maxAge)
  },
})

/** Answers preflights. Any other OPTIONS request goes to the usual routes, with authentication. */
function answerPreflights(http: FastifyInstance, maxAge: number): void {
  http.route({
    method: 'OPTIONS',
    url: '/*',
    constraints: { preflight: true },
    config: { public: true },
    handler: (request, reply) => {
      const { 'access-control-request-headers': headers, 'access-control-request-method': method } =
        request.headers
      reply
        .code(204)
        .header('access-control-allow-methods', String(method))
        .header('access-control-max-age', maxAge)
      if (headers !== undefined) reply.header('access-control-allow-headers', headers)
      return reply.send()
    },
  })
}

function addVary(reply: FastifyReply): void {
  const before = reply.getHeader('vary')
  reply.header('vary', before === undefined ? 'Origin' : `${String(before)}, Origin`)
}
