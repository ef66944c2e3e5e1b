import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request as requestOverHttp,
} from 'node:http'
import { request as requestOverHttps } from 'node:https'
import { definePlugin, type OutgoingHeaders, UpstreamError } from 'sallyport'
import { jsonRpcErrors, openPassage, targetUrl } from 'sallyport/toolkit'
import { z } from 'zod'

export default definePlugin({
  name: 'my-forwarder',
  api: 1,
  version: '0.1.0',
  summary: 'Forwards MCP requests to one server, with only the headers of MCP.',
  options: z.strictObject({ target: targetUrl().describe('the URL of the server') }),

  setup(gateway, { target }) {
    // Before the route. Each response goes through it: policies filter lists, and audits read which calls failed.
    const passage = openPassage(gateway)
    gateway.http.route({
      method: ['GET', 'POST', 'DELETE'],
      url: '/*',
      config: { mcp: true, errors: jsonRpcErrors },
      // Read before Fastify parses the body, so that the server gets the bytes that the client sent.
      onRequest: async (request) => void (await request.wholeBody()),
      async handler(request, reply) {
        const whole = await request.wholeBody()
        const body = whole.length === 0 ? undefined : passage.bodyFor(request, whole)
        const headers = [...ofMcp(request.headers), ...passage.headersFor(request)]
        const disconnected = new AbortController()
        reply.raw.once('close', () => disconnected.abort())
        const { method } = request
        const options = { method, headers: Object.fromEntries(headers), signal: disconnected.signal }
        const response = await send(new URL(target), options, body)
        await passage.send(reply, {
          status: response.statusCode ?? 502,
          headers: ofMcp(response.headers),
          body: response,
        })
        return reply
      },
    })
  },
})

/** They include no credentials and no cookies. */
const ofMcp = (headers: IncomingHttpHeaders): OutgoingHeaders =>
  Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' && (PASSED.has(name) || name.startsWith('mcp-'))
      ? [[name, value] as const]
      : [],
  )

const PASSED = new Set(['accept', 'content-type', 'last-event-id', 'cache-control', 'allow'])

/** Resolves with the response head of the server. */
function send(target: URL, options: RequestOptions, body: Buffer | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = target.protocol === 'https:' ? requestOverHttps : requestOverHttp
    const outgoing = request(target, options, resolve)
    outgoing.on('error', (cause) =>
      reject(new UpstreamError('TARGET_UNREACHABLE', 'the server does not answer', { cause })),
    )
    outgoing.end(body)
  })
}
