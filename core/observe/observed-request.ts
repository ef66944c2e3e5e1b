import type { FastifyReply } from 'fastify'
import type { PublishedChange } from '../contract/capabilities/audit-sink.js'
import type { OutgoingHeaders } from '../contract/capabilities/header-source.js'
import type { Trace, TraceEnd, TracePart, Tracer } from '../contract/capabilities/tracer.js'
import type { Refusal } from '../contract/errors.js'
import type { McpCall, McpMessage } from '../contract/message.js'
import type { CallFailure, CallObserver } from '../mcp/call-observer.js'
import { SUBSCRIPTION } from '../mcp/methods.js'
import { isPromise } from '../toolkit/deadline.js'
import { Beginning, headersOf, type Safely, startTrace, TRACER_FAILED, traceIdIn } from './joined-tracer.js'
import { causeOf, ObservedBody } from './observed-body.js'

/** The route of a request, as it was declared. */
interface ObservedRoute {
  readonly url: string
  /** Whether its requests go to an MCP server. */
  readonly isMcp: boolean
}

interface OpenPart {
  readonly name: string
  readonly startedAt: number
}

/** Collects the data of one request that audit sinks, tracers and metrics get when it has ended. */
export class ObservedRequest implements CallObserver {
  // Read for each request: since the gateway's start the clock may have been set, or the machine may have slept.
  private readonly startedAt: number
  private readonly origin: number
  refusal: Refusal | undefined
  /** The code of the error reply. */
  errorCode: string | undefined
  isAnswerUnread = false
  /** Defined until the gate has decided about the request. */
  admission: Promise<void> | undefined
  changes: PublishedChange[] | undefined
  readonly body: ObservedBody
  /** By the id of each answered call: its failure, or undefined for a success. */
  private answers: Map<McpCall['id'], CallFailure | undefined> | undefined
  private failureOfRest: CallFailure | undefined
  /** The code of the first JSON-RPC error among the answers. */
  private rpcCode: number | undefined
  private parts: TracePart[] | undefined
  private open: Set<OpenPart> | undefined
  private trace: Trace | undefined
  private state: 'waiting' | 'started' | 'ended' = 'waiting'
  private sentAt: number | undefined

  constructor(
    readonly reply: FastifyReply,
    readonly route: ObservedRoute,
    private readonly tracer: Tracer | undefined,
    /** Whether metrics or audits need the results of calls. */
    readonly wantsCalls: boolean,
    /** Gets the tools that an answer to `tools/list` names, where metrics count calls by tool. */
    readonly toolsListed: ((names: Iterable<string>) => void) | undefined,
    private readonly safely: Safely,
  ) {
    this.body = new ObservedBody(reply.request)
    this.startedAt = tracer === undefined ? 0 : Date.now()
    this.origin = tracer === undefined ? 0 : this.startedAt - performance.now()
  }

  get message(): McpMessage | undefined {
    return this.body.message
  }

  /** Whether the end may be reported in a batch: only a sampled trace is exported at once. */
  get canWait(): boolean {
    return this.started?.sampled !== true
  }

  /** Whether the trace has an `end`. */
  get wantsEnd(): boolean {
    return this.started?.end !== undefined
  }

  /** The forwarder has read the body, before or after it was sent on; `undefined` if it has not kept it. */
  bodyRead(body: Buffer | undefined): void {
    if (!this.body.take(body)) return
    // A trace that is not sampled needs no message, and parsing would be most of its cost.
    if (this.intoMeta || (this.wantsAnswers && !(this.canWait && this.body.isSmall))) this.body.parse()
    if (!this.wantsAnswers) this.body.unparsed = undefined
  }

  /** The trace headers for the target, instead of the caller's. They may differ at each attempt. */
  get traceHeaders(): OutgoingHeaders {
    return headersOf(this.started, this.safely)
  }

  /** Whether the trace headers are written into the body too. */
  get intoMeta(): boolean {
    return this.started?.intoMeta === true
  }

  get traceId(): string | undefined {
    const id = this.started?.traceId
    return id === undefined || id === '' ? traceIdIn(this.reply.request.headers['traceparent']) : id
  }

  get sampledTraceId(): string | undefined {
    return this.started?.sampled === true ? this.started.traceId : undefined
  }

  /** The request is sent to the target, perhaps not for the first time. */
  sent(): void {
    if (this.tracer !== undefined && this.trace?.sampled !== false) this.sentAt ??= this.now()
  }

  /** The target's response has ended. */
  targetEnded(failure?: string): void {
    if (this.sentAt === undefined) return
    this.addPart('target', this.sentAt, failure)
    this.sentAt = undefined
  }

  callAnswered(id: McpCall['id'], failure: CallFailure | undefined, rpcCode?: number): void {
    this.rpcCode ??= rpcCode
    this.answers ??= new Map()
    this.answers.set(id, failure ?? this.answers.get(id))
  }

  /**
   * All calls without an answer of their own failed: the server could not read an id, or refused a whole batch, or
   * their stream was ended.
   */
  restFailed(failure: CallFailure, rpcCode?: number): void {
    this.rpcCode ??= rpcCode
    this.failureOfRest = failure
  }

  /** Whether each call has its answer, or is a subscription, which lasts until its caller ends it. */
  get isAnswered(): boolean {
    const isOver = ({ kind, id, method }: McpCall): boolean =>
      kind !== 'request' || method === SUBSCRIPTION || this.answers?.has(id) === true
    return this.message?.calls.every(isOver) === true
  }

  /** Whether any observer needs the content of answers with status 200. */
  get wantsAnswers(): boolean {
    return this.wantsCalls || this.started?.sampled === true
  }

  answerNotRead(): void {
    this.isAnswerUnread = true
  }

  failureOf(id: McpCall['id']): CallFailure | undefined {
    return this.answers?.has(id) === true ? this.answers.get(id) : this.failureOfRest
  }

  time<T>(name: string, run: () => T): T {
    if (this.tracer === undefined || this.trace?.sampled === false) return run()
    const part = { name, startedAt: this.now() }
    let result: T
    try {
      result = run()
    } catch (error) {
      this.addPart(name, part.startedAt, causeOf(error))
      throw error
    }
    if (isPromise(result)) this.timePromise(part, result)
    else if (this.now() - part.startedAt >= SHORTEST_PART) this.addPart(name, part.startedAt, undefined)
    return result
  }

  private timePromise(part: OpenPart, result: PromiseLike<unknown>): void {
    this.open ??= new Set()
    this.open.add(part)
    const end = (failure?: string): void => {
      if (this.open?.delete(part) === true) this.addPart(part.name, part.startedAt, failure)
    }
    result.then(
      () => end(),
      (error: unknown) => end(causeOf(error)),
    )
  }

  /** Ends the trace, and with it the parts that are still open. */
  end(status: number, { outcome, causes }: Pick<TraceEnd, 'outcome' | 'causes'>): void {
    const { started } = this
    if (started === undefined) return
    const rpcCode = causes[0] === 'rpc_error' ? this.rpcCode : undefined
    // An allowed request may have causes too, which are no failures.
    this.targetEnded(outcome === 'allowed' ? undefined : (rpcCode?.toString() ?? causes[0]))
    for (const { name, startedAt } of this.open ?? []) this.addPart(name, startedAt, causes[0] ?? 'aborted')
    this.open = undefined
    this.state = 'ended'
    const end = { endedAt: this.now(), status, outcome, causes, ...(rpcCode !== undefined && { rpcCode }) }
    this.safely(() => started.end?.(end), TRACER_FAILED)
  }

  private get started(): Trace | undefined {
    const { tracer, parts } = this
    if (tracer === undefined || this.state !== 'waiting') return this.trace
    this.state = 'started'
    this.safely(() => {
      this.trace = startTrace(tracer, new Beginning(this.reply.request, this.startedAt, this.body))
    }, TRACER_FAILED)
    this.parts = undefined
    for (const part of parts ?? []) this.addToTrace(part)
    return this.trace
  }

  private addPart(name: string, startedAt: number, failure: string | undefined): void {
    if (this.trace?.sampled === false) return
    const part = { name, startedAt, endedAt: this.now(), ...(failure !== undefined && { failure }) }
    if (this.state !== 'waiting') this.addToTrace(part)
    else {
      this.parts ??= []
      this.parts.push(part)
    }
  }

  private now(): number {
    return this.origin + performance.now()
  }

  private addToTrace(part: TracePart): void {
    const { trace } = this
    if (trace !== undefined && this.state !== 'ended') this.safely(() => trace.part?.(part), TRACER_FAILED)
  }
}

/** Milliseconds: a shorter step found its result in a cache, such as the verdict on a token. */
const SHORTEST_PART = 0.1
