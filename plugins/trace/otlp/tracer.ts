import type { McpMessage, Trace, TraceBeginning, Tracer } from 'sallyport'
import type { Packages } from './packages.js'
import { SampledTrace } from './sampled-trace.js'
import type { SpanExports } from './span-exports.js'
import type { Spans } from './spans.js'
import { type Context, contextOf, headersOf, SAMPLED } from './trace-context.js'

interface Options {
  /** The part of traces without a parent that is exported. */
  readonly sample: number
  readonly followParent: boolean
  readonly intoMeta: boolean
}

const MAX_LINKS = 32

/** Decides whether a request is traced before anything is made for it, since most are not. */
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
    // A span that nobody will see is nobody's parent: the target gets the id that came.
    if (!isSampled) return new UnsampledTrace(parent ?? ownContext(traceId), intoMeta)

    const { spans, exports } = this
    // Of a body that went on as it came, what it calls is known at the end.
    const links = () => linksOf(parent, [nearest, fromHeader, ...contextsOf(beginning.message)])
    return new SampledTrace({ beginning, traceId, parent, links, intoMeta }, { ids, spans, exports })
  }
}

/** Most requests get it: to draw a second id, for a span that is nowhere, would take as long as the first. */
const ownContext = (traceId: string): Context => ({
  traceId,
  spanId: traceId.slice(-16),
  flags: 0,
  state: undefined,
})

/** Those of a batch: each of its calls may belong to another trace. */
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

/** The trace of a request that is not exported: it is only sent on. */
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
