import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { AccessSink } from '../contract/capabilities/access-sink.js'
import type { AuditEvent, AuditSink, PublishedChange } from '../contract/capabilities/audit-sink.js'
import type { Refusal } from '../contract/errors.js'
import type { Meter } from '../contract/meter.js'
import { runSafely } from '../toolkit/deadline.js'
import { isDispatched } from './dispatched-request.js'
import {
  EndedRequests,
  hasPublished,
  markPublished,
  markRefused,
  onceEnded,
  wasRefused,
} from './ended-request.js'
import type { LogThrottle } from './log-throttle.js'
import { fieldsOf, routeOf } from './logged-fields.js'

/** Counts, logs and audits requests. Labels are routes as declared, never requested paths. */
export class RequestObserver {
  private readonly count
  private readonly duration
  private readonly refusals
  private readonly endedRequests

  constructor(
    meter: Meter,
    private readonly log: Logger,
    private readonly throttle: LogThrottle,
    private readonly sinks: () => readonly AuditSink[],
    private readonly accessSinks: () => readonly AccessSink[],
  ) {
    this.endedRequests = new EndedRequests(accessSinks, (sink, ended) =>
      this.runSafely(() => sink.ended(ended), 'an access sink failed'),
    )
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

  /** Counts, logs and audits a refusal. The reasons are for these alone and never for the caller. */
  readonly refused = (refusal: Refusal, request: FastifyRequest, reply: FastifyReply): void => {
    const { code, reasons, statusCode: status } = refusal
    const first = reasons.find(({ cause }) => cause !== 'foreign') ?? reasons[0]
    const { provider = 'gate', cause = code.toLowerCase() } = first ?? {}
    const kind = { refused: code, status, provider, cause, route: routeOf(request) }
    const extra = { reasons, method: request.method, err: refusal.cause }
    // Clients ask without a token first, to be told where to get one; browsers ask for icons. A dispatched request that
    // has no token is a part of one that has a line of its own; a token that was refused has its reasons here alone.
    const level = code !== 'UNAUTHORIZED' ? 'warn' : isDispatched(request) ? 'debug' : 'info'
    markRefused(reply)
    onceEnded(reply, (ended) =>
      this.throttle.write(request.log, level, 'refused', kind, { ...extra, ...fieldsOf(ended) }),
    )
    if (reasons.length === 0) this.refusals(1, { provider, cause })
    for (const reason of reasons) this.refusals(1, { provider: reason.provider, cause: reason.cause })
    const causes = reasons.map((reason) => reason.cause)
    this.audit(request, { kind: 'refused', status, ...callerOf(request), causes })
  }

  /** Audits what a request changed, once it is known what its caller was told. */
  readonly published = (server: PublishedChange, request: FastifyRequest, reply: FastifyReply): void => {
    markPublished(reply)
    onceEnded(reply, ({ status }) =>
      this.audit(request, { kind: 'published', status, ...callerOf(request), server }),
    )
  }

  /** Called for each request before anything looks at it. */
  readonly begun = (_request: FastifyRequest, reply: FastifyReply): void => {
    if (this.accessSinks().length > 0) this.endedRequests.watch(reply)
  }

  /** Installed only when a plugin of the list observes requests: it runs for every one of them. */
  install(app: FastifyInstance): void {
    app.addHook('onResponse', (request, reply, done) => {
      const route = routeOf(request)
      this.count(1, { method: request.method, route, status: String(reply.statusCode) })
      this.duration(reply.elapsedTime / 1000, { route })
      if (request.identity !== undefined && !hasPublished(reply) && !wasRefused(reply))
        this.audit(request, { kind: 'accepted', status: reply.statusCode, ...callerOf(request) })
      done()
    })
  }

  private audit(
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
      address: request.clientAddress,
      ...decision,
    }
    for (const sink of sinks) this.runSafely(() => sink(event), 'an audit sink failed')
  }

  private runSafely(observe: () => unknown, message: string): void {
    runSafely(observe, (err) => this.throttle.write(this.log, 'warn', message, {}, { err }))
  }
}

const callerOf = ({ identity }: FastifyRequest): Pick<AuditEvent, 'provider' | 'subject'> | undefined =>
  identity && { provider: identity.provider, subject: identity.subject }
