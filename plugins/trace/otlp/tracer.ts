import type { McpMessage, Trace, TraceBeginning, Tracer } from 'sallyport'
import type { Packages } from './packages.js'
import { SampledTrace } from './sampled-trace.js'
import type { SpanExports } from './span-exports.js'
import type { Spans } from './spans.js'
import { type Context, contextOf, headersOf, SAMPLED } from './trace-context.js'

interface Options {
  /** The share of traces without a parent that is exported. */
  readonly sample: number
  readonly followParent: boolean
  readonly intoMeta: boolean
}

const MAX_LINKS = 32

/** Decides first whether a request is sampled, since most are not, and makes spans only for sampled ones. */
export class OtlpTracer implements Tracer {
  private readonly ids

  constructor(
    private readonly options: Options,
    { sdk }: Pick<Packages, 'sdk'>,
    private readonly spans: Spans,
    private readonly exports: SpanExports,
  ) {
    this.ids = new sdk.RandomIdGenerator()
  }

  start(beginning: TraceBeginning): Trace {
    const { sample, followParent, intoMeta } = this.options
    const { ids } = this
    const { traceparent, tracestate } = beginning.request.headers
    const fromHeader =
      typeof traceparent === 'string'
        ? contextOf({ traceparent, ...(typeof tracestate === 'string' && { tracestate }) })
        : undefined
    const inBody = beginning.withoutContext === true ? undefined : beginning.message?.calls[0]?.trace
    const nearest = contextOf(inBody) ?? fromHeader
    const parent = followParent ? nearest : undefined

    const traceId = parent?.traceId ?? ids.generateTraceId()
    const isSampled = parent === undefined ? Math.random() < sample : (parent.flags & SAMPLED) !== 0
    // A span that is not exported must be no parent: the target gets the caller's own context.
    if (!isSampled) return new UnsampledTrace(parent ?? ownContext(traceId), intoMeta)

    const { spans, exports } = this
    // A streamed body is read at its end, so its calls are known only then.
    const links = () => linksOf(parent, [nearest, fromHeader, ...contextsOf(beginning.message)])
    return new SampledTrace({ beginning, traceId, parent, links, intoMeta }, { ids, spans, exports })
  }
}

/**
 * The context of most requests. Its span is not exported, so its id is part of the trace id: a second random id would
 * take as long as the first.
 */
const ownContext = (traceId: string): Context => ({
  traceId,
  spanId: traceId.slice(-16),
  flags: 0,
  state: undefined,
})

/** The contexts of a batch: each call may belong to another trace. */
function* contextsOf(message: McpMessage | undefined): Generator<Context | undefined> {
  for (const { trace } of message?.calls ?? []) yield contextOf(trace)
}

function linksOf(parent: Context | undefined, all: Iterable<Context | undefined>): readonly Context[] {
  const known = new Set(parent === undefined ? [] : [keyOf(parent)])
  const links: Context[] = []
  for (const context of all) {
    if (links.length === MAX_LINKS) break
    if (context === undefined || known.has(keyOf(context))) continue
    known.add(keyOf(context))
    links.push(context)
  }
  return links
}

const keyOf = ({ traceId, spanId }: Context): string => traceId + spanId

/** The trace of a request that is not sampled: it only provides the headers for the target. */
class UnsampledTrace implements Trace {
  readonly sampled = false

  constructor(
    private readonly context: Context,
    readonly intoMeta: boolean,
  ) {}

  get traceId(): string {
    return this.context.traceId
  }

  get headers(): Trace['headers'] {
    return headersOf(this.context)
  }
}
