import type { HealthState } from 'sallyport'
import type { InternalRequest, InternalResponse, WorkerResponse } from './messages.js'
import type { MetricsMerge, ProcessMetrics } from './metrics-merge.js'
import type { WorkerHandle } from './worker-handle.js'

// A worker that has not responded by then hangs. What is not a GET has no limit.
const RESPONSE_TIMEOUT = 2_000

interface Reply {
  readonly handle: WorkerHandle
  readonly response: WorkerResponse | undefined
}

interface Workers {
  /** Those that answer on the internal port. */
  readonly answering: readonly WorkerHandle[]
  readonly health: HealthState
}

/** Sends each request on the internal port to every worker, and makes one response of theirs. */
export class InternalFanout {
  constructor(
    private readonly workers: Workers,
    private readonly merge: MetricsMerge,
    private readonly primaryMetrics: () => string,
  ) {}

  async respond(request: InternalRequest): Promise<InternalResponse> {
    const { method, url } = request
    const limit = method === 'GET' || method === 'HEAD' ? RESPONSE_TIMEOUT : undefined
    const replies = await Promise.all(
      this.workers.answering.map(
        async (handle): Promise<Reply> => ({ handle, response: await handle.request(request, limit) }),
      ),
    )
    const responses = replies.flatMap(({ response }) => response ?? [])
    if (/^\/readiness(?:\?|$)/.test(url) && responses.every(isReadiness)) return this.readiness(replies)
    return method === 'GET' && responses.some(isExposition) ? this.metrics(replies) : worstOf(responses)
  }

  /** The worst status of all workers, with the checks of each. */
  private readiness(replies: readonly Reply[]): InternalResponse {
    const states = new Map<string, HealthState>()
    for (const { handle, response } of replies) {
      for (const [name, state] of checksOf(handle, response)) {
        const known = states.get(name)
        if (known === undefined || (state.status === 'down' && known.status !== 'down'))
          states.set(name, state)
      }
    }
    const { health } = this.workers
    if (health.status !== 'ok') states.set('workers', health)
    const down = [...states.values()].some(({ status }) => status === 'down')
    const checks = states.size > 0 && { checks: Object.fromEntries(states) }
    const body = down ? { error: 'service not ready', ...checks } : { status: 'ready', ...checks }
    return { status: down ? 503 : 200, headers: JSON_HEADERS, body: JSON.stringify(body) }
  }

  private metrics(replies: readonly Reply[]): InternalResponse {
    const ofWorkers = replies.flatMap(({ handle, response }): ProcessMetrics[] =>
      response === undefined || !isExposition(response)
        ? []
        : [{ process: handle.id, boot: response.boot, worker: handle.number, text: response.body }],
    )
    const ofPrimary: ProcessMetrics = { process: 0, boot: 0, text: this.primaryMetrics() }
    return { status: 200, headers: METRICS_HEADERS, body: this.merge.text([...ofWorkers, ofPrimary]) }
  }
}

export const isExposition = ({ status, headers }: InternalResponse): boolean =>
  status === 200 && String(headers['content-type']).startsWith(EXPOSITION)

const EXPOSITION = 'text/plain; version=0.0.4'
const METRICS_HEADERS = { 'content-type': `${EXPOSITION}; charset=utf-8` }

const isReadiness = ({ status, headers }: InternalResponse): boolean =>
  (status === 200 || status === 503) && String(headers['content-type']).startsWith('application/json')

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' }

/** A failure in one worker is a failure of the gateway. */
function worstOf(responses: readonly InternalResponse[]): InternalResponse {
  // Who only passed the request on knows less than who did it.
  const rank = ({ status }: InternalResponse): number => (status === 202 ? 0 : status)
  const [worst] = responses.toSorted((a, b) => rank(b) - rank(a))
  const body = JSON.stringify({ error: 'unavailable', error_description: 'no worker answers' })
  return worst ?? { status: 503, headers: JSON_HEADERS, body }
}

function checksOf({ number }: WorkerHandle, response: WorkerResponse | undefined): [string, HealthState][] {
  if (response === undefined) return [[`worker ${number}`, { status: 'down', reason: 'it does not answer' }]]
  const { checks = {} }: { checks?: Readonly<Record<string, HealthState>> } = JSON.parse(response.body)
  return Object.entries(checks)
}
