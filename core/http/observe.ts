import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { AuditEvent, AuditSink } from '../contracts/audit-sink.js'
import { harmless } from '../deadline.js'
import type { Refusal } from '../errors.js'
import type { Meter } from '../meter.js'

const UNKNOWN = 'unknown'

/** Counts and tells what the gate and the routes did. Labels are routes as declared, never paths as asked for. */
export class Observation {
  private readonly count
  private readonly duration
  private readonly refusals

  constructor(
    meter: Meter,
    private readonly log: Logger,
    private readonly sinks: () => readonly AuditSink[],
  ) {
    this.count = meter.counter('http_requests_total', 'Requests answered on the main port', [
      'method',
      'route',
      'status',
    ])
    this.duration = meter.histogram('http_request_duration_seconds', 'Time until the answer was sent', [
      'route',
    ])
    this.refusals = meter.counter('refusals_total', 'Requests refused at the gate', ['provider', 'cause'])
  }

  /** One line and one count for each refusal; the reasons go here and never to the caller. */
  readonly refused = (refusal: Refusal, request: FastifyRequest): void => {
    const { code, reasons, statusCode: status } = refusal
    const first = reasons.find(({ cause }) => cause !== 'foreign') ?? reasons[0]
    const { provider = 'gate', cause = code.toLowerCase() } = first ?? {}
    request.log.warn(
      {
        refused: code,
        status,
        provider,
        cause,
        reasons,
        method: request.method,
        route: routeOf(request),
        err: refusal.cause,
      },
      'refused',
    )
    if (reasons.length === 0) this.refusals(1, { provider, cause })
    for (const reason of reasons) this.refusals(1, { provider: reason.provider, cause: reason.cause })
    this.tell(request, { kind: 'refused', status, causes: reasons.map((reason) => reason.cause) })
  }

  /** Installed only when somebody in the list observes: it runs for every request. */
  install(app: FastifyInstance): void {
    app.addHook('onResponse', (request, reply, done) => {
      const route = routeOf(request)
      this.count(1, { method: request.method, route, status: String(reply.statusCode) })
      this.duration(reply.elapsedTime / 1000, { route })
      const { identity } = request
      if (identity !== undefined) {
        const { provider, subject } = identity
        this.tell(request, { kind: 'accepted', status: reply.statusCode, provider, subject })
      }
      done()
    })
  }

  private tell(
    request: FastifyRequest,
    decision: Pick<AuditEvent, 'kind' | 'status'> & Partial<AuditEvent>,
  ): void {
    const sinks = this.sinks()
    if (sinks.length === 0) return
    const event = {
      at: new Date().toISOString(),
      requestId: request.id,
      method: request.method,
      route: routeOf(request),
      ...decision,
    }
    const failed = (error: unknown): void => this.log.warn({ err: error }, 'an audit sink failed')
    for (const sink of sinks) harmless(() => sink(event), failed)
  }
}

const routeOf = (request: FastifyRequest): string => request.routeOptions.url ?? UNKNOWN
