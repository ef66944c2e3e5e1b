import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { TestContext } from 'node:test'
import type { Entry, ServeContext } from 'sallyport'
import { recordedLog, serving } from '../../kit/booted.js'

/** The way that these tests take to a target on loopback, which no proxy is ever asked for. */
export const way = { isDirect: true, to: (target: string): string => target }

/** A forwarder before a target, with what else the test puts into its list. */
export async function proxied(
  t: TestContext,
  target: string,
  options: Readonly<Record<string, unknown>> = {},
  more: readonly Entry[] = [],
  context: Partial<ServeContext> = {},
) {
  const { log, lines, scrubber } = recordedLog()
  const list = [
    { use: 'listen/http', with: { address: '127.0.0.1:0' } },
    { use: 'auth/anonymous' },
    ...more,
    { use: 'forward/http', with: { target: way.to(target), ...options } },
  ]
  const running = await serving(t, list, { log, scrubber, ...context })
  return { main: running.addresses.main ?? '', running, lines }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface Asked {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Buffer
}

/** A request of its own connection, answered when its head is there. */
export function opening(origin: string, { method = 'GET', path = '/', headers = {}, body }: Asked = {}) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest(origin, { method, path, headers, agent: false })
    request.on('response', resolve).on('error', reject)
    request.end(body)
  })
}

export async function asking(origin: string, asked: Asked = {}): Promise<Answer> {
  const response = await opening(origin, asked)
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}

/** A JSON-RPC call, as clients send it. */
export const call = (id: string | number): Asked => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list' }),
})
