import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { listening } from '#kit/listening.js'

interface Seen {
  readonly method: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export const answerTo = (body: string, result: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result })

const failureOf = (body: string, error: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, error })

/** The status with which a message is refused, or the error in its answer. */
type Refusals = (method: string) => number | object | undefined

/** A target with sessions, which the test can drop. */
export async function target(
  t: TestContext,
  capabilities: () => object = () => ({}),
  refused: Refusals = () => undefined,
  forgotten = (response: ServerResponse): void => void response.writeHead(404).end(),
) {
  const seen: Seen[] = []
  let session = 1
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', headers } = request
    const body = await text(request)
    seen.push({ method, headers, body })
    if (method === 'GET') return response.writeHead(405).end()
    if (method === 'DELETE') return response.writeHead(200).end()
    const message = JSON.parse(body)
    const refusal = refused(message.method)
    if (typeof refusal === 'number') return response.writeHead(refusal).end()
    if (message.method === 'initialize') {
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: capabilities(),
        serverInfo: { name: 's', version: '1' },
      }
      return response
        .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `s${session}` })
        .end(answerTo(body, result))
    }
    if (headers['mcp-session-id'] !== `s${session}`) return forgotten(response)
    if (message.id === undefined) return response.writeHead(202).end()
    return response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(refusal === undefined ? answerTo(body) : failureOf(body, refusal))
  }
  const url = await listening(t, (request, response) => void answer(request, response))
  return { url: `${url}/mcp`, seen, forget: () => session++ }
}
