import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { ReceivedRequest } from './issuer.js'
import { opened } from './listening.js'
import { type EraServer, eraServer } from './mcp-eras.js'

/**
 * The MCP revision of a server: 2025-11-25 has sessions, a stream for each and answers as events, and includes the
 * revisions 2025-03-26 and 2025-06-18; 2026-07-28 has none of them; 2024-11-05 uses one event stream.
 */
export type McpEra = '2025-11-25' | '2026-07-28' | '2024-11-05'

export interface McpTargetOptions {
  readonly era?: McpEra
}

/** An MCP server on loopback, on the official SDK, whose requests a test can watch and intercept. */
export interface McpTarget {
  readonly url: string
  /** Every request, in the order of arrival. */
  readonly asked: readonly ReceivedRequest[]
  /** How many sessions are open; always 0 in an era without them. */
  readonly sessions: number
  /**
   * Receives every request, with its body, before the server does. It returns `true` when it responds itself, or when
   * there shall be no response: then the server does not get the request.
   */
  intercept: (request: IncomingMessage, response: ServerResponse, body: string) => boolean
  /** Notifies every connected client that the tools have changed. */
  announce(): Promise<void>
  /** Forgets every session, as a restart would. */
  forget(): Promise<void>
}

/**
 * Starts an MCP server with four tools: `add` (a + b), `count` (reports each number up to `to` as progress),
 * `headers` (returns the headers of the call) and `fail`. Closed when the test ends.
 */
export async function mcpTarget(
  t: TestContext,
  { era = '2025-11-25' }: McpTargetOptions = {},
): Promise<McpTarget> {
  const asked: ReceivedRequest[] = []
  const inner: EraServer = await eraServer(era)
  const target: Omit<McpTarget, 'url'> = {
    asked,
    get sessions() {
      return inner.sessions()
    },
    intercept: () => false,
    announce: () => inner.announce(),
    forget: () => inner.forget(),
  }
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { method = '', url: path = '', headers } = request
      asked.push({ method, path, headers, body })
      if (target.intercept(request, response, body)) return undefined
      return inner.answer(request, response, body).catch(() => response.destroy())
    })
  })
  t.after(() => inner.forget())
  const { port } = await opened(t, server)
  const url = `http://127.0.0.1:${port}/${era === '2024-11-05' ? 'sse' : 'mcp'}`
  return Object.defineProperty(target as McpTarget, 'url', { value: url, enumerable: true })
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
