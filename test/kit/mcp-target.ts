import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { ReceivedRequest } from './issuer.js'
import { opened } from './listening.js'
import { type Answering, answeringIn } from './mcp-eras.js'

/**
 * How a server speaks: with sessions, a stream of its own and answers as events; without any of them; or as before
 * 2025, over one stream of events. With sessions it also speaks the revisions 2025-03-26 and 2025-06-18.
 */
export type McpEra = '2025-11-25' | '2026-07-28' | '2024-11-05'

export interface McpTargetOptions {
  readonly era?: McpEra
}

/** An MCP server on loopback, on the official SDK, that a test can watch and get in the way of. */
export interface McpTarget {
  readonly url: string
  /** Every request, in the order of arrival. */
  readonly asked: readonly ReceivedRequest[]
  /** How many sessions are open; always 0 in an era without them. */
  readonly sessions: number
  /**
   * Sees every request before the server does, with its body. Who answers it here, or means never to, returns
   * `true`: the server is not asked.
   */
  intercept: (request: IncomingMessage, response: ServerResponse, body: string) => boolean
  /** Tells every client that listens that the tools have changed. */
  announce(): Promise<void>
  /** Forgets every session, as a restart would. */
  forget(): Promise<void>
}

/**
 * Starts an MCP server with four tools: `add` (a + b), `count` (says each number up to `to` as progress), `headers`
 * (what the call came with) and `fail`. Closed when the test ends.
 */
export async function mcpTarget(
  t: TestContext,
  { era = '2025-11-25' }: McpTargetOptions = {},
): Promise<McpTarget> {
  const asked: ReceivedRequest[] = []
  const answering: Answering = await answeringIn(era)
  const target: Omit<McpTarget, 'url'> = {
    asked,
    get sessions() {
      return answering.sessions()
    },
    intercept: () => false,
    announce: () => answering.announce(),
    forget: () => answering.forget(),
  }
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { method = '', url: path = '', headers } = request
      asked.push({ method, path, headers, body })
      if (target.intercept(request, response, body)) return undefined
      return answering.answer(request, response, body).catch(() => response.destroy())
    })
  })
  t.after(() => answering.forget())
  const { port } = await opened(t, server)
  const url = `http://127.0.0.1:${port}/${era === '2024-11-05' ? 'sse' : 'mcp'}`
  return Object.defineProperty(target as McpTarget, 'url', { value: url, enumerable: true })
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
