import type { Trace } from 'sallyport'
import { type Context, headersOf } from './trace-context.js'

/** The trace of a request that is not exported: it is only sent on. */
export class UnsampledTrace implements Trace {
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
