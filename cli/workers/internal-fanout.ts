import { setTimeout as pause } from 'node:timers/promises'
import type { InternalRequest, InternalResponse } from './worker.js'
import type { WorkerHandle } from './worker-handle.js'

// A worker that does not respond in this time hangs. Only GET requests have this limit.
const RESPONSE_TIMEOUT = 2_000

interface Metric {
  readonly type: string
  readonly values: readonly { readonly labels: Readonly<Record<string, unknown>> }[]
}

/** Sends a request on the internal port to every worker, and merges their responses into one. */
export async function requestAll(
  workers: readonly WorkerHandle[],
  request: InternalRequest,
): Promise<InternalResponse> {
  const { method, url, headers } = request
  const isMetrics = method === 'GET' && /^\/metrics(?:\?|$)/.test(url)
  const sent = isMetrics ? { ...request, headers: { ...headers, accept: 'application/json' } } : request
  const replies = await Promise.all(
    workers.map(async (worker) => {
      const response = worker.request(sent).catch(() => undefined)
      const late = method === 'GET' ? [pause(RESPONSE_TIMEOUT, undefined, { ref: false })] : []
      return { worker: worker.number, response: await Promise.race([response, ...late]) }
    }),
  )
  const responses = replies.flatMap(({ worker, response }) => (response ? [{ worker, ...response }] : []))
  const worst = worstOf(responses)
  return isMetrics && worst.statusCode === 200 && responses.every(isJson) ? metricsOf(responses) : worst
}

const isJson = ({ headers }: InternalResponse): boolean =>
  String(headers['content-type']).startsWith('application/json')

/** A failure in one worker is a failure of the gateway. */
function worstOf(responses: readonly InternalResponse[]): InternalResponse {
  // A worker with 202 only passed the request on; another worker knows the result.
  const rank = ({ statusCode }: InternalResponse): number => (statusCode === 202 ? 0 : statusCode)
  const [worst] = responses.toSorted((a, b) => rank(b) - rank(a))
  const body = JSON.stringify({ error: 'unavailable', error_description: 'no worker responds' })
  return worst ?? { statusCode: 503, headers: { 'content-type': 'application/json; charset=utf-8' }, body }
}

/** Sums counters and histograms. A gauge describes one process, so each worker's gauge stays, with a label. */
async function metricsOf(
  responses: readonly (InternalResponse & { readonly worker: number })[],
): Promise<InternalResponse> {
  const { AggregatorRegistry } = (await import('prom-client')).default
  const all = responses.map(({ worker, body }) =>
    (JSON.parse(body) as Metric[]).map((metric) => {
      if (metric.type !== 'gauge') return metric
      const values = metric.values.map((value) => ({ ...value, labels: { ...value.labels, worker } }))
      return { ...metric, values, aggregator: 'sum' }
    }),
  )
  const merged = AggregatorRegistry.aggregate(all)
  return { statusCode: 200, headers: { 'content-type': merged.contentType }, body: await merged.metrics() }
}
