import type { Trace, TraceBeginning, TraceEnd, TracePart } from 'sallyport'
import { type Attributes, describe, MAX_LENGTH } from './description.js'
import type { SpanExports } from './span-exports.js'
import type { SpanParts, Spans } from './spans.js'
import { type Context, headersOf, RANDOM, SAMPLED } from './trace-context.js'

interface TraceStart {
  readonly beginning: TraceBeginning
  readonly traceId: string
  readonly parent: Context | undefined
  /** Called at the end, when all calls of the request are known. */
  readonly links: () => readonly Context[]
  readonly intoMeta: boolean
}

interface SpanOutput {
  readonly ids: { generateSpanId(): string }
  readonly spans: Spans
  readonly exports: SpanExports
}

/** A trace that is exported: a span for the request, and one for each of its parts. */
export class SampledTrace implements Trace {
  readonly sampled = true
  readonly traceId: string
  readonly intoMeta: boolean
  private readonly own: Context
  /** The next span for the target. The target gets its id before the span exists. */
  private target: Context | undefined

  constructor(
    private readonly started: TraceStart,
    private readonly output: SpanOutput,
  ) {
    const { traceId, parent, intoMeta } = started
    this.traceId = traceId
    this.intoMeta = intoMeta
    const flags = SAMPLED | ((parent?.flags ?? 0) & RANDOM)
    this.own = { traceId, spanId: output.ids.generateSpanId(), flags, state: parent?.state }
  }

  get headers(): Trace['headers'] {
    this.target ??= this.child()
    return headersOf(this.target)
  }

  part({ name, startedAt, endedAt, failure }: TracePart): void {
    const isTarget = name === 'target'
    const context = (isTarget ? this.target : undefined) ?? this.child()
    // The next attempt gets a span of its own.
    if (isTarget) this.target = undefined
    this.export(context, {
      name: name.slice(0, MAX_LENGTH),
      kind: isTarget ? 'client' : 'internal',
      parent: this.own,
      isRemote: false,
      startedAt,
      endedAt,
      attributes: errorOf(failure),
      links: [],
      isFailed: failure !== undefined,
    })
  }

  end({ endedAt, status, outcome, causes, rpcCode }: TraceEnd): void {
    const { beginning, parent, links } = this.started
    const isFailed = outcome === 'failed'
    const { name, attributes } = describe(beginning)
    const cause = outcome === 'allowed' ? undefined : (causes[0] ?? (isFailed ? String(status) : '_OTHER'))
    this.export(this.own, {
      name,
      kind: 'server',
      parent,
      isRemote: true,
      startedAt: beginning.startedAt,
      endedAt,
      attributes: {
        ...attributes,
        'http.response.status_code': status,
        ...errorOf(rpcCode?.toString() ?? cause),
        ...rpcOf(rpcCode),
      },
      links: links(),
      // A refusal is no failure of the gateway. The conventions for HTTP leave the status of a server's 4xx unset, too.
      isFailed: isFailed && !isOwnRefusal(status, causes),
    })
  }

  private child(): Context {
    return { ...this.own, spanId: this.output.ids.generateSpanId() }
  }

  private export(context: Context, parts: Omit<SpanParts, keyof Context>): void {
    const { exports, spans } = this.output
    exports.add(() => spans.ended({ ...context, ...parts }))
  }
}

/** Whether the response is a 4xx of the gateway itself. */
const isOwnRefusal = (status: number, causes: readonly string[]): boolean =>
  status >= 400 && status < 500 && !causes.includes('target_status') && !causes.includes('aborted')

// The conventions want text.
const rpcOf = (code: number | undefined): Attributes =>
  code === undefined ? {} : { 'rpc.response.status_code': String(code) }

const errorOf = (cause: string | undefined): Attributes =>
  cause === undefined ? {} : { 'error.type': cause.slice(0, MAX_LENGTH) }
