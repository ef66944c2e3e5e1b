import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { TestContext } from 'node:test'
import { type Entry, type McpCall, type McpMessage, Telemetry, Tracer } from 'sallyport'
import { boot } from 'sallyport/embed'
import { booted, contextFor, recordedLog, serving } from '#kit/booted.js'
import { opened } from '#kit/listening.js'
import { listen, plugin, providing } from '#kit/plugin.js'

export interface ExportedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code: number }
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
}

interface Received {
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** An OTLP/HTTP collector on its own port, and what it receives. */
export async function collector(
  t: TestContext,
  answer: Answer = (_, response) => response.end('{}'),
  server: Server = createServer(),
) {
  const received: Received[] = []
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ headers: request.headers, text: Buffer.concat(chunks).toString() })
      answer(request, response)
    })
  })
  // Long, so that the collector does not close connections that the gateway leaves open.
  server.keepAliveTimeout = 60_000
  const { port, sockets } = await opened(t, server)
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    received,
    sockets,
    spans: () => received.flatMap(({ text }) => spansIn(JSON.parse(text))),
    resources: () =>
      received.flatMap(({ text }) =>
        JSON.parse(text).resourceSpans.map((each: { resource: Resource }) => flat(each.resource.attributes)),
      ),
  }
}

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}
interface Resource {
  readonly attributes: readonly Attribute[]
}
interface Request {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ExportedSpan, 'attributes'> & Resource)[]
    }[]
  }[]
}

const flat = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

const spansIn = ({ resourceSpans }: Request): ExportedSpan[] =>
  resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, attributes: flat(span.attributes) }))),
  )

type Beginning = Parameters<Tracer['start']>[0]

/** A list with one tracer, and a function that makes requests for it. The list exports spans when it stops. */
export async function tracing(t: TestContext, options: Readonly<Record<string, unknown>>) {
  let tracers: () => readonly Tracer[] = () => []
  const taking = plugin('taking', (gateway) => {
    tracers = gateway.use(Tracer)
  })
  const counts = new Map<string, number>()
  const measuring = providing('measuring', Telemetry, {
    measure({ name }, value, labels) {
      const key = [name, ...Object.values(labels)].join(' ')
      counts.set(key, (counts.get(key) ?? 0) + value)
    },
  })
  const { log, lines } = recordedLog()
  const list = [measuring, taking, { use: 'trace/otlp', with: { sample: 1, ...options } }]
  const running = await boot(list, contextFor({ log }))
  t.after(() => running.stop())
  const [tracer] = tracers()
  if (tracer === undefined) throw new Error('the list has no tracer')

  return { tracer, requestWith: await requests(t), counts, lines, stop: () => running.stop() }
}

/** A traced proxy on a socket, with every request in a span unless the options say otherwise. */
export async function traced(
  t: TestContext,
  options: Readonly<Record<string, unknown>>,
  target: string,
  more: readonly Entry[] = [],
) {
  const list = [
    listen,
    ...(more.some(({ use }) => typeof use === 'string' && use.startsWith('auth/'))
      ? []
      : [{ use: 'auth/anonymous' }]),
    { use: 'trace/otlp', with: { sample: 1, ...options } },
    ...more,
    { use: 'forward/http', with: { target } },
  ]
  const running = await serving(t, list)
  return { running, main: running.addresses.main ?? '', list }
}

/** A request with these headers, as a tracer gets it. It was sent to another list, which has no tracer. */
async function requests(t: TestContext) {
  let seen: Beginning['request'] | undefined
  const looking = plugin('looking', ({ http }) => {
    http.all('/mcp', { config: { public: true } }, (request) => {
      seen = request
      return 'here'
    })
  })
  const app = await booted(t, [looking])
  return async (headers: Readonly<Record<string, string>> = {}) => {
    await app.inject({ method: 'POST', url: '/mcp', headers })
    if (seen === undefined) throw new Error('no request came')
    return seen
  }
}

export const startedAt = Date.UTC(2030, 0)
export const END = { endedAt: startedAt + 20.5, status: 200, outcome: 'allowed', causes: [] } as const

export const toolCall: McpCall = {
  kind: 'request',
  method: 'tools/call',
  id: 7,
  subjects: [{ kind: 'tool', name: 'get_weather' }],
}

export const messageOf = (...calls: readonly McpCall[]): McpMessage => ({
  protocolVersion: '2025-11-25',
  isBatch: calls.length > 1,
  calls,
})

export const JSON_TYPE = { 'content-type': 'application/json' }

export const [UNSET, ERROR] = [0, 2]
export const [INTERNAL, SERVER, CLIENT] = [1, 2, 3]
