import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { InjectOptions } from 'fastify'
import { definePlugin, type List } from 'sallyport'
import type { InternalRequest, InternalResponse, WorkerResponse } from './messages.js'

/** What the plugins below need of the process. */
export interface WorkerContext {
  readonly boot: number
  /** Has the primary send the request to all workers: one response of theirs. */
  request(request: InternalRequest): Promise<InternalResponse>
  /** Everything is started. Resolves when the ports may be opened. */
  started(): Promise<void>
  /** The ports are open. From here on this list responds to requests of the primary. */
  opened(respond: (request: InternalRequest) => Promise<WorkerResponse>): void
  finalMetrics(response: WorkerResponse): void
}

const MAX_BODY = 1024 * 1024
const METRICS: InternalRequest = { method: 'GET', url: '/metrics', headers: {}, body: new Uint8Array() }

/**
 * A list between two plugins of a worker's own. The first sends every request on the internal port to the primary,
 * so that the response is about all workers; the last keeps the ports closed until all workers are started.
 */
export function workerPlugins(worker: WorkerContext, list: List): List {
  // Known to this process alone: nobody else can reach a single worker, and take its response for that of all.
  const secret = randomUUID()

  const internalRequests = definePlugin({
    name: 'workers/internal',
    api: 1,
    setup({ internal }) {
      internal.addHook('onRequest', async (request, reply) => {
        if (request.headers[SECRET_HEADER] === secret) return
        const body = await bodyOf(request.raw)
        if (body === undefined) return reply.code(413).send()
        const { method, url, headers } = request
        const { status, headers: sent, body: text } = await worker.request({ method, url, headers, body })
        return reply.code(status).headers(sent).send(text)
      })
    },
  })

  const start = definePlugin({
    name: 'workers/start',
    api: 1,
    setup(gateway) {
      const respond = async (request: InternalRequest): Promise<WorkerResponse> => {
        const { statusCode, headers, body } = await gateway.internal.inject(requestOf(request, secret))
        return { status: statusCode, headers: endToEnd(headers), body, boot: worker.boot }
      }
      let opened = false
      gateway.onStart(() => worker.started())
      gateway.onReady(() => {
        opened = true
        worker.opened(respond)
      })
      // Listed last, so stopped first: the metrics are still there.
      gateway.onStop(async () => {
        if (opened) worker.finalMetrics(await respond(METRICS))
      })
    },
  })
  return [{ use: internalRequests }, ...list, { use: start }]
}

const SECRET_HEADER = 'x-sallyport-worker'

const requestOf = ({ method, url, headers, body }: InternalRequest, secret: string): InjectOptions => ({
  method: method as 'GET',
  url,
  headers: { ...headers, [SECRET_HEADER]: secret },
  ...(body.length > 0 && { payload: Buffer.from(body) }),
})

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const CONNECTION_HEADERS = new Set([
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
  'date',
])

function endToEnd(
  headers: Readonly<Record<string, number | string | string[] | undefined>>,
): InternalResponse['headers'] {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || CONNECTION_HEADERS.has(name)
        ? []
        : [[name, typeof value === 'number' ? String(value) : value]],
    ),
  )
}
