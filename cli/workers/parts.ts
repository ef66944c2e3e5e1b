import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { InjectOptions } from 'fastify'
import { definePlugin, type List } from 'sallyport'
import type { Answer, OwnAnswer, Question } from './messages.js'

/** What the parts of a list that only a worker has need of the process around them. */
export interface Surroundings {
  readonly boot: number
  /** Has the primary ask all workers, and answers for them all. */
  ask(question: Question): Promise<Answer>
  /** Everything is started. Settles when the doors may open. */
  started(): Promise<void>
  /** The doors are open. From here on this list answers the questions of the primary. */
  opened(answer: (question: Question) => Promise<OwnAnswer>): void
  farewell(answer: OwnAnswer): void
}

const MOST_BYTES = 1024 * 1024
const METRICS: Question = { method: 'GET', url: '/metrics', headers: {}, body: new Uint8Array() }

/**
 * A worker's own entries round a list. The first takes every request on the internal port to the primary, so that
 * whoever asks there hears of all workers; the last holds the doors until all workers have come so far.
 */
export function inWorker(surroundings: Surroundings, list: List): List {
  // Known in this process alone: nobody else can ask one worker and take it for all.
  const pass = randomUUID()

  const questions = definePlugin({
    name: 'workers/questions',
    api: 1,
    setup({ internal }) {
      internal.addHook('onRequest', async (request, reply) => {
        if (request.headers[PASS] === pass) return
        const body = await bodyOf(request.raw)
        if (body === undefined) return reply.code(413).send()
        const { method, url, headers } = request
        const { status, headers: told, body: text } = await surroundings.ask({ method, url, headers, body })
        return reply.code(status).headers(told).send(text)
      })
    },
  })

  const doors = definePlugin({
    name: 'workers/doors',
    api: 1,
    setup(gateway) {
      const answer = async (question: Question): Promise<OwnAnswer> => {
        const { statusCode, headers, body } = await gateway.internal.inject(requestOf(question, pass))
        return { status: statusCode, headers: kept(headers), body, boot: surroundings.boot }
      }
      let opened = false
      gateway.onStart(() => surroundings.started())
      gateway.onReady(() => {
        opened = true
        surroundings.opened(answer)
      })
      // First of all steps at the end: what was counted is still there.
      gateway.onStop(async () => {
        if (opened) surroundings.farewell(await answer(METRICS))
      })
    },
  })
  return [{ use: questions }, ...list, { use: doors }]
}

const PASS = 'x-sallyport-worker'

const requestOf = ({ method, url, headers, body }: Question, pass: string): InjectOptions => ({
  method: method as 'GET',
  url,
  headers: { ...headers, [PASS]: pass },
  ...(body.length > 0 && { payload: Buffer.from(body) }),
})

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MOST_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const OF_THE_CONNECTION = new Set(['connection', 'keep-alive', 'content-length', 'transfer-encoding', 'date'])

function kept(headers: Readonly<Record<string, number | string | string[] | undefined>>): Answer['headers'] {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || OF_THE_CONNECTION.has(name)
        ? []
        : [[name, typeof value === 'number' ? String(value) : value]],
    ),
  )
}
