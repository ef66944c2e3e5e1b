import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { AccessSink, EndedRequest } from '../contract/capabilities/access-sink.js'
import type { AuditSink, PublishedChange } from '../contract/capabilities/audit-sink.js'
import type { Telemetry } from '../contract/capabilities/telemetry.js'
import type { Tracer } from '../contract/capabilities/tracer.js'
import type { Refusal } from '../contract/errors.js'
import type { Meter } from '../contract/meter.js'
import { isDispatched } from '../http/dispatched-request.js'
import type { LogThrottle } from '../log/log-throttle.js'
import { runSafely } from '../toolkit/deadline.js'
import { TimeText } from '../toolkit/time-text.js'
import { auditEvents, type RequestEnd, resultOf, resultOfCalls } from './audit-events.js'
import { AuditThrottle } from './audit-throttle.js'
import { CallMetrics } from './call-metrics.js'
import { EndedBatch } from './ended-batch.js'
import { EndedRequests, markRefused, onceEnded } from './ended-request.js'
import { joinedTracer, type Safely } from './joined-tracer.js'
import { fieldsOf, routeOf } from './logged-fields.js'
import { observationOf, observe } from './observation.js'
import { ObservedRequest } from './observed-request.js'

/** The observers of a list, once it is complete. */
export interface Observers {
  readonly auditSinks: () => readonly AuditSink[]
  readonly accessSinks: () => readonly AccessSink[]
  readonly tracers: () => readonly Tracer[]
  readonly telemetry: () => readonly Telemetry[]
}

/** The state of a request at its end; `observed` is undefined if no observer needs its calls. */
interface Ended extends Omit<RequestEnd, 'observed'> {
  readonly observed: ObservedRequest | undefined
  readonly elapsedMs: number
}

/** The cause is a fault of the gateway, or in data that a plugin gave about the request. */
const REPORT_FAILED = 'an ended request was not audited, measured or traced in full'

/** Counts, logs, audits and traces requests. Labels are routes as declared, never requested paths. */
export class RequestObserver {
  private readonly count
  private readonly duration
  private readonly refusals
  private readonly calls: CallMetrics
  private readonly endedRequests: EndedRequests
  private readonly batch = new EndedBatch<Ended>(
    (end) => this.report(end),
    (err) => this.failed(REPORT_FAILED, err),
  )
  private readonly auditThrottle = new AuditThrottle((event) => {
    for (const sink of this.observers.auditSinks()) this.runSafely(() => sink(event), 'an audit sink failed')
  })
  private readonly undecided = new Set<Ended>()
  private readonly clock = new TimeText()
  private joined: Tracer | undefined

  constructor(
    meter: Meter,
    private readonly log: Logger,
    private readonly throttle: LogThrottle,
    listedTools: Set<string>,
    private readonly observers: Observers,
  ) {
    this.endedRequests = new EndedRequests(
      observers.accessSinks,
      (sink, ended) => this.runSafely(() => sink.ended(ended), 'an access sink failed'),
      (ended, elapsedMs) => this.ended(ended, elapsedMs),
    )
    this.calls = new CallMetrics(meter, listedTools)
    this.count = meter.counter(
      'http_requests_total',
      'Requests that have ended on the main port; 499: the client left before its response began',
      ['method', 'route', 'status'],
    )
    this.duration = meter.histogram('http_request_duration_seconds', 'Time until the response was sent', [
      'route',
    ])
    this.refusals = meter.counter('refusals_total', 'Requests refused at the gate', ['provider', 'cause'])
  }

  /** Called for each request before any other hook. */
  readonly begun = (
    request: FastifyRequest,
    reply: FastifyReply,
    { url: route = 'unknown', config }: FastifyRequest['routeOptions'],
  ): void => {
    const { auditSinks, accessSinks, telemetry } = this.observers
    const isMcp = config.mcp === true
    const tracer = isDispatched(request) ? undefined : this.tracer()
    const isMeasured = telemetry().length > 0
    const wantsCalls = auditSinks().length > 0 || (isMcp && isMeasured)
    const isObserved = wantsCalls || tracer !== undefined
    if (isObserved) {
      const toolsListed = isMeasured ? this.calls.toolsListed : undefined
      observe(
        new ObservedRequest(reply, { url: route, isMcp }, tracer, wantsCalls, toolsListed, this.runSafely),
      )
    }
    if (wantsCalls || isMeasured) this.batch.begun()
    if (isObserved || isMeasured || accessSinks().length > 0) this.endedRequests.watch(reply)
  }

  /** Whether the list has audit sinks. */
  readonly audits = (): boolean => this.observers.auditSinks().length > 0

  /** Counts and logs a refusal. Only the log and observers get the reasons, never the caller. */
  readonly refused = (refusal: Refusal, request: FastifyRequest, reply: FastifyReply): void => {
    const { code, reasons, statusCode: status } = refusal
    const first = reasons.find(({ cause }) => cause !== 'foreign') ?? reasons[0]
    const { provider = 'gate', cause = code.toLowerCase() } = first ?? {}
    const kind = { refused: code, status, provider, cause, route: routeOf(request) }
    const extra = { reasons, method: request.method, err: refusal.cause }
    // No warning without a token: clients request without one first, to learn where to get one, and browsers request
    // icons. A dispatched request without a token is a part of another request, which has a log line of its own. For a
    // refused token this line is the only one with the reasons.
    const level = code !== 'UNAUTHORIZED' ? 'warn' : isDispatched(request) ? 'debug' : 'info'
    markRefused(reply)
    onceEnded(reply, (ended) =>
      this.throttle.write(request.log, level, 'refused', kind, { ...extra, ...fieldsOf(ended), status }),
    )
    if (reasons.length === 0) this.refusals(1, { provider, cause })
    for (const reason of reasons) this.refusals(1, { provider: reason.provider, cause: reason.cause })
    const observed = observationOf(request)
    if (observed === undefined) return
    const isLate = observed.admission === undefined && this.isLate(observed)
    observed.refusal = refusal
    if (isLate) this.auditLate(observed)
  }

  /** Called when the response is an error reply with this code. */
  readonly errorReplied = (code: string, request: FastifyRequest): void => {
    const observed = observationOf(request)
    if (observed !== undefined) observed.errorCode = code
  }

  /** Audits a change that a request made, once its response has ended. */
  readonly published = (server: PublishedChange, request: FastifyRequest): void => {
    const observed = observationOf(request)
    if (observed === undefined) return
    const isLate = this.isLate(observed)
    observed.changes ??= []
    observed.changes.push(server)
    if (isLate) this.auditLate(observed)
  }

  /**
   * Whether the caller has gone: then flushes the batch, so that the request's first event comes before the late one.
   */
  private isLate({ reply }: ObservedRequest): boolean {
    const { destroyed } = reply.raw
    if (destroyed) this.batch.flush()
    return destroyed
  }

  private auditLate(observed: ObservedRequest): void {
    onceEnded(observed.reply, ({ request, status, durationMs, aborted }) =>
      this.audit({ observed, request, status, durationMs, aborted, at: Date.now() }),
    )
  }

  /** Reports ended requests at once, now and from now on: the observers stop soon. */
  stop(): void {
    this.batch.stop()
    for (const end of this.undecided) this.hasEnded(end)
    this.undecided.clear()
    this.auditThrottle.stop()
  }

  private tracer(): Tracer | undefined {
    const tracers = this.observers.tracers()
    if (tracers.length > 0) this.joined ??= joinedTracer(tracers, this.runSafely)
    return this.joined
  }

  private ended(ended: EndedRequest, elapsedMs: number): void {
    const { request } = ended
    const observed = observationOf(request)
    const admission = observed?.admission
    // Read now: later the connection serves another request, or is closed.
    const { status, durationMs, aborted } = ended
    const end = { observed, request, status, durationMs, aborted, at: Date.now(), elapsedMs }
    if (admission === undefined) this.hasEnded(end)
    else this.endedEarly(end, admission)
  }

  /** The response has ended before the gate has decided: the report waits for its decision. */
  private endedEarly(end: Ended, admission: Promise<void>): void {
    this.undecided.add(end)
    void admission.then(() => this.undecided.delete(end) && this.hasEnded(end))
  }

  private hasEnded(end: Ended): void {
    const isReported = this.isReported(end.observed)
    if (isObserved(end) && !(isReported && end.observed.canWait)) this.endTraceSafely(end)
    if (isReported) this.batch.ended(end)
  }

  /** Whether the request is measured or audited. */
  private isReported(observed: ObservedRequest | undefined): boolean {
    return observed?.wantsCalls === true || this.observers.telemetry().length > 0
  }

  private endTraceSafely(end: RequestEnd): void {
    this.runSafely(() => endTrace(end), REPORT_FAILED)
  }

  private report(end: Ended): void {
    const isMeasured = this.observers.telemetry().length > 0
    if (isMeasured) this.measure(end)
    if (!isObserved(end)) return
    const { observed, durationMs } = end
    if (isMeasured && observed.route.isMcp) this.calls.record(observed, durationMs, resultOf(end))
    if (observed.canWait) endTrace(end)
    this.audit(end)
  }

  private measure({ observed, request, status, aborted, elapsedMs }: Ended): void {
    // An upgrade lasts as long as its connection.
    if (status === 101) return
    const route = routeOf(request)
    this.count(1, { method: request.method, route, status: String(status) })
    // The time until a client leaves is not the time of a response.
    if (!aborted) this.duration(elapsedMs / 1000, { route }, observed?.sampledTraceId)
  }

  private audit(end: RequestEnd): void {
    if (this.observers.auditSinks().length === 0) return
    for (const event of auditEvents(end, this.clock.of(end.at))) this.auditThrottle.add(event)
    end.observed.changes = undefined
  }

  private readonly runSafely: Safely = (observe, message) =>
    runSafely(observe, (err) => this.failed(message, err))

  private failed(message: string, err: unknown): void {
    this.throttle.write(this.log, 'warn', message, {}, { err })
  }
}

const isObserved = (ended: Ended): ended is Ended & RequestEnd => ended.observed !== undefined

function endTrace(end: RequestEnd): void {
  const { observed, status } = end
  if (observed.wantsEnd) observed.end(status, resultOfCalls(observed, resultOf(end)))
}
