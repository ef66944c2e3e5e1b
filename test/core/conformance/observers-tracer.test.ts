import { type Trace, type TraceBeginning, Tracer } from 'sallyport'
import { findsFaults } from '#kit/conformance.js'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'

const trace: Trace = {
  traceId: TRACE_ID,
  sampled: true,
  headers: [['traceparent', `00-${TRACE_ID}-b7ad6b7169203331-01`]],
  part() {},
  end() {},
}

findsFaults(Tracer, {
  'a tracer that throws for an invalid parent': {
    code: 'TRACER_THROWS',
    make: () => ({
      start({ message }: TraceBeginning) {
        const [, , , flags] = message?.calls[0]?.trace?.traceparent.split('-') ?? ['', '', '', '01']
        if (flags === undefined) throw new Error('no flags')
        return trace
      },
    }),
  },
  'an end that is awaited': {
    code: 'TRACER_ANSWERS',
    make: () => ({ start: () => ({ ...trace, end: async () => {} }) }),
  },
  'an id of zeros': {
    code: 'TRACE_ID',
    make: () => ({
      start: () => ({
        ...trace,
        traceId: '0'.repeat(32),
        headers: [['traceparent', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`]],
      }),
    }),
  },
  'headers of another trace': {
    code: 'TRACE_ID',
    make: () => ({ start: () => ({ ...trace, traceId: 'a'.repeat(32) }) }),
  },
})
