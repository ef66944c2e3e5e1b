import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { TestContext } from 'node:test'
import { Credential, definePlugin, type Entry } from 'sallyport'
import type { ServeContext } from 'sallyport/embed'
import { recordedLog, serving } from '#kit/booted.js'
import { listen, providing } from '#kit/plugin.js'

/** How these tests reach a target: directly, since loopback never goes through an outgoing proxy. */
export const targetRoute = {
  isDirect: true,
  urlOf: (target: string): string => target,
  options: {},
}

/** A forwarder with more plugins of the test. */
export async function proxied(
  t: TestContext,
  target: string,
  options: Readonly<Record<string, unknown>> = {},
  more: readonly Entry[] = [],
  context: Partial<ServeContext> = {},
) {
  const { log, lines, scrubber } = recordedLog()
  const list = [
    listen,
    { use: 'auth/anonymous' },
    ...more,
    { use: 'forward/http', with: { target: targetRoute.urlOf(target), ...targetRoute.options, ...options } },
  ]
  const running = await serving(t, list, { log, scrubber, ...context })
  return { main: running.addresses.main ?? '', running, lines }
}

/** A renewable credential, for which bodies are kept. */
export const renewable = providing('renewable', Credential, {
  name: 'renewable',
  present: () => ({ header: 'authorization', value: 'Bearer x', accessToken: 'x' }),
  renew: () => Promise.resolve(true),
})

/** A credential that is new once the target has refused the first. */
export const renewed = {
  use: definePlugin({
    name: 'renewed',
    api: 1,
    provides: [Credential],
    setup(gateway) {
      let token = 1
      gateway.provide(Credential, {
        name: 'renewed',
        present: () => ({ header: 'Authorization', value: `Bearer ${token}` }),
        renew: async () => ++token === 2,
      })
    },
  }),
}

export interface ReceivedResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

interface RequestOptions {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body?: string | Buffer
}

/** Sends a request on a connection of its own; resolves with the head of the response. */
export function openRequest(
  origin: string,
  { method = 'GET', path = '/', headers = {}, body }: RequestOptions = {},
) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest(origin, { method, path, headers, agent: false })
    request.on('response', resolve).on('error', reject)
    request.end(body)
  })
}

export async function send(origin: string, options: RequestOptions = {}): Promise<ReceivedResponse> {
  const response = await openRequest(origin, options)
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += chunk
  return { status: response.statusCode ?? 0, headers: response.headers, body }
}

/** A JSON-RPC request, as clients send it. */
export const call = (id: string | number): RequestOptions => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list' }),
})
