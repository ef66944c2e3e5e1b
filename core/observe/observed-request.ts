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
interface RequestPlace {
  readonly route: string
  /** Its requests go to an MCP server. */
  readonly isMcp: boolean
}

interface OpenPart {
  readonly name: string
  readonly startedAt: number
}

/**
 * Collects what audit sinks, tracers and metrics are told of one request when it has ended. Its lists are made when there is
 * something in them: V8 allocates lists that are made for each request as old objects, and what such a one holds stays
 * until the next full collection.
 */
export class ObservedRequest implements CallObserver {
  // Of each request anew, for its trace: since the start the clock may have been set, or the machine have slept.
  private readonly startedAt: number
  private readonly origin: number
  refusal: Refusal | undefined
  /** That of the error reply. */
  errorCode: string | undefined
  isAnswerUnread = false
  /** While it is not decided whether it is let in. */
  admission: Promise<void> | undefined
  changes: PublishedChange[] | undefined
  readonly body: ObservedBody
  /** By the ids of the calls: what failed, or that they have their answer. */
  private answers: Map<McpCall['id'], CallFailure | undefined> | undefined
  private failureOfRest: CallFailure | undefined
  /** Of the first error of JSON-RPC that an answer tells. */
  private rpcCode: number | undefined
  private parts: TracePart[] | undefined
  private open: Set<OpenPart> | undefined
  private trace: Trace | undefined
  private state: 'waiting' | 'started' | 'ended' = 'waiting'
  private sentAt: number | undefined

  constructor(
    readonly reply: FastifyReply,
    readonly place: RequestPlace,
    private readonly tracer: Tracer | undefined,
    /** Somebody wants to know what became of calls: metrics, or audits. */
    readonly wantsCalls: boolean,
    /** Takes the tools that an answer to `tools/list` names, where somebody counts calls by them. */
    readonly toolsListed: ((names: Iterable<string>) => void) | undefined,
    private readonly safely: Safely,
  ) {
    this.body = new ObservedBody(reply.request)
    this.startedAt = tracer === undefined ? 0 : Date.now()
    this.origin = tracer === undefined ? 0 : this.startedAt - performance.now()
  }

  /** What the body calls, as far as somebody has read it. */
  get message(): McpMessage | undefined {
    return this.body.message
  }

  /** Nobody is in a hurry to be told how it ended: a trace is that somebody will look at. */
  get canWait(): boolean {
    return this.started?.sampled !== true
  }

  /** Its trace wants to know how it ended. */
  get wantsEnd(): boolean {
    return this.started?.end !== undefined
  }

  /** Whoever sends the request on has its body, or has not kept it; what goes on as it comes it may have at the end. */
  bodyRead(body: Buffer | undefined): void {
    if (!this.body.take(body)) return
    // Nobody looks at what a trace calls that is not sampled, and parsing is most of what that would cost.
    if (this.intoMeta || (this.wantsAnswers && !(this.canWait && this.body.isSmall))) this.body.parse()
    if (!this.wantsAnswers) this.body.unparsed = undefined
  }

  /** What the target gets of the trace, in place of what the caller sent: each attempt may get something else. */
  get traceHeaders(): OutgoingHeaders {
    return headersOf(this.started, this.safely)
  }

  /** These headers are written into the body too. */
  get intoMeta(): boolean {
    return this.started?.intoMeta === true
  }

  get traceId(): string | undefined {
    const id = this.started?.traceId
    return id === undefined || id === '' ? traceIdIn(this.reply.request.headers['traceparent']) : id
  }

  /** Of a trace that somebody will be able to look at. */
  get sampledTraceId(): string | undefined {
    return this.started?.sampled === true ? this.started.traceId : undefined
  }

  /** The request goes to the target, perhaps not for the first time. */
  sent(): void {
    if (this.tracer !== undefined && this.trace?.sampled !== false) this.sentAt ??= this.now()
  }

  /** The target's response has ended. */
  targetEnded(failure?: string): void {
    if (this.sentAt === undefined) return
    this.addPart('target', this.sentAt, failure)
    this.sentAt = undefined
  }

  /** The call with this id was answered, perhaps by a failure. */
  callAnswered(id: McpCall['id'], failure: CallFailure | undefined, rpcCode?: number): void {
    this.rpcCode ??= rpcCode
    this.answers ??= new Map()
    this.answers.set(id, failure ?? this.answers.get(id))
  }

  /** No answer names them: the server could not read an id, has refused a batch as a whole, or their stream was ended. */
  restFailed(failure: CallFailure, rpcCode?: number): void {
    this.rpcCode ??= rpcCode
    this.failureOfRest = failure
  }

  /** Nobody waits for more: each call has its answer, or is a subscription, which lasts until its caller ends it. */
  get isAnswered(): boolean {
    const isOver = ({ kind, id, method }: McpCall): boolean =>
      kind !== 'request' || method === SUBSCRIPTION || this.answers?.has(id) === true
    return this.message?.calls.every(isOver) === true
  }

  /** Whether it matters to anybody what an answer with status 200 says. */
  get wantsAnswers(): boolean {
    return this.wantsCalls || this.started?.sampled === true
  }

  /** What the answer says of the calls is not known. */
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

  /** What has not ended yet ends with the request. */
  end(status: number, { outcome, causes }: Pick<TraceEnd, 'outcome' | 'causes'>): void {
    const { started } = this
    if (started === undefined) return
    const rpcCode = causes[0] === 'rpc_error' ? this.rpcCode : undefined
    // What is allowed may have causes too.
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
    for (const part of parts ?? []) this.tell(part)
    return this.trace
  }

  private addPart(name: string, startedAt: number, failure: string | undefined): void {
    // Nobody will look at it.
    if (this.trace?.sampled === false) return
    const part = { name, startedAt, endedAt: this.now(), ...(failure !== undefined && { failure }) }
    if (this.state !== 'waiting') this.tell(part)
    else {
      this.parts ??= []
      this.parts.push(part)
    }
  }

  private now(): number {
    return this.origin + performance.now()
  }

  private tell(part: TracePart): void {
    const { trace } = this
    if (trace !== undefined && this.state !== 'ended') this.safely(() => trace.part?.(part), TRACER_FAILED)
  }
}

/** Milliseconds: what took less time was there already, such as the verdict on a token. */
const SHORTEST_PART = 0.1
