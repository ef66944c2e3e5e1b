import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { type Entry, type Judgement, Policy, type PolicyQuestion } from 'sallyport'
import { mcpPlugin, providing } from '#kit/plugin.js'

/** A route without an MCP server behind it: it returns the message that the target would get. */
export const mcpRoute = mcpPlugin('mcp-route', ({ http }, passage) => {
  const read = async (request: FastifyRequest): Promise<void> => void (await request.message())
  http.all('/mcp', { config: { mcp: true }, onRequest: read }, async (request, reply) => {
    const text = JSON.stringify({ message: await request.message() })
    const headers = Object.entries({ ...JSON_TYPE, 'content-length': String(Buffer.byteLength(text)) })
    await passage.send(reply, { status: 200, headers, body: Readable.from([Buffer.from(text)]) })
    return reply
  })
  http.post('/plain', () => 'plain')
})

export const policy = (
  judge: (question: PolicyQuestion) => Judgement | Promise<Judgement>,
  name = 'judging',
): Entry => providing(name, Policy, { judge, shows: (_caller, listed) => listed.map(() => true) })

export const ALLOWED: Judgement = { allowed: true }

export const toolCall = (name: string, id: unknown = 1): Record<string, unknown> => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {} },
})

export const JSON_TYPE = { 'content-type': 'application/json' }
