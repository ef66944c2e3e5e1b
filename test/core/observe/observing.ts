import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type AuditEvent,
  AuditSink,
  definePlugin,
  type Entry,
  type Identity,
  Telemetry,
  type TraceBeginning,
  type TraceEnd,
  type TracePart,
  Tracer,
} from 'sallyport'
import { observationOf } from 'sallyport/toolkit'
import { corp } from '#kit/corp.js'
import { mcpPlugin } from '#kit/plugin.js'

export const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'

export interface Traced {
  readonly beginning: TraceBeginning
  readonly parts: TracePart[]
  end: TraceEnd | undefined
}

export interface Measured {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly traceId: string | undefined
}

/** The data that the observers of a list have got. */
export interface Observed {
  readonly events: AuditEvent[]
  readonly traces: Traced[]
  readonly measured: Measured[]
}

type Kind = 'audit' | 'trace' | 'measure'

const CAPABILITIES = { audit: AuditSink, trace: Tracer, measure: Telemetry }

/** A plugin that observes in these ways, and the data that it got. */
export function observing(...kinds: Kind[]): { readonly observed: Observed; readonly entry: Entry } {
  const observed: Observed = { events: [], traces: [], measured: [] }
  const use = definePlugin({
    name: 'observing',
    api: 1,
    provides: kinds.map((kind) => CAPABILITIES[kind]),
    setup(gateway) {
      if (kinds.includes('audit')) gateway.provide(AuditSink, (event) => void observed.events.push(event))
      if (kinds.includes('trace'))
        gateway.provide(Tracer, { start: (beginning) => traceIn(observed, beginning) })
      if (!kinds.includes('measure')) return
      gateway.provide(Telemetry, {
        measure: ({ name }, _value, labels, traceId) =>
          void observed.measured.push({ name, labels, traceId }),
      })
    },
  })
  return { observed, entry: { use } }
}

function traceIn({ traces }: Observed, beginning: TraceBeginning) {
  const traced: Traced = { beginning, parts: [], end: undefined }
  traces.push(traced)
  return {
    traceId: TRACE_ID,
    sampled: true,
    headers: [['traceparent', `00-${TRACE_ID}-b7ad6b7169203331-01`]] as const,
    part: (part: TracePart) => void traced.parts.push(part),
    end(end: TraceEnd) {
      traced.end = end
    },
  }
}

/** Admits every request with a token, as this identity. */
export const known = (identity: Partial<Identity> = {}): Entry =>
  corp(() => ({ subject: 'ann', ...identity }))

/** Reads the body as a forwarder does, before Fastify could parse it, and answers. */
export const takingBody = {
  config: { mcp: true },
  async onRequest(request: FastifyRequest, reply: FastifyReply) {
    observationOf(request)?.bodyRead(await request.wholeBody())
    return reply.code(202).send()
  },
}

/** Takes calls as a forwarder does, and answers nothing. */
export const taking: Entry = mcpPlugin('taking', ({ http }) => {
  http.post('/mcp', takingBody, (_request, reply) => reply)
  http.get('/plain', () => 'plain')
})

export const asAnn = { authorization: 'Bearer SECRET-TOKEN', 'content-type': 'application/json' }
