import type { HrTime, SpanContext } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import type { Attributes } from './description.js'
import type { Packages } from './packages.js'
import type { Context } from './trace-context.js'

export interface SpanParts {
  readonly name: string
  readonly kind: 'server' | 'client' | 'internal'
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
  readonly state: string | undefined
  readonly parent: Context | undefined
  /** The parent is in another process. */
  readonly isRemote: boolean
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Attributes
  readonly links: readonly Context[]
  readonly isFailed: boolean
}

/**
 * Makes spans that have ended. The SDK's tracer makes a span when it begins, and chooses its id and whether it is
 * sampled. But the target gets the id of its span before that span begins.
 */
export class Spans {
  private readonly resource
  private readonly scope = { name: 'sallyport' }

  constructor(
    private readonly packages: Packages,
    serviceName: string,
  ) {
    const { defaultResource, resourceFromAttributes } = packages.resources
    this.resource = defaultResource().merge(resourceFromAttributes({ 'service.name': serviceName }))
  }

  ended(parts: SpanParts): ReadableSpan {
    const { SpanKind, SpanStatusCode } = this.packages.api
    const { startedAt, endedAt, parent } = parts
    const kind = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }[parts.kind]
    const context = this.spanContext(parts)
    const duration = Math.max(0, endedAt - startedAt)
    return {
      name: parts.name,
      kind,
      spanContext: () => context,
      ...(parent !== undefined && { parentSpanContext: this.spanContext(parent, parts.isRemote) }),
      startTime: timeOf(startedAt),
      endTime: timeOf(startedAt + duration),
      duration: timeOf(duration),
      status: { code: parts.isFailed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
      attributes: parts.attributes,
      links: parts.links.map((link) => ({ context: this.spanContext(link, true) })),
      events: [],
      ended: true,
      resource: this.resource,
      instrumentationScope: this.scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    }
  }

  private spanContext({ traceId, spanId, flags, state }: Context, isRemote = false): SpanContext {
    const traceState = state === undefined ? undefined : this.packages.api.createTraceState(state)
    return { traceId, spanId, traceFlags: flags, isRemote, ...(traceState !== undefined && { traceState }) }
  }
}

/** Whole seconds, and the remaining nanoseconds. */
function timeOf(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1000)
  return [seconds, Math.min(999_999_999, Math.round((milliseconds - seconds * 1000) * 1e6))]
}
