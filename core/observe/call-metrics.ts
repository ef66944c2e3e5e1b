import type { Meter } from '../contract/meter.js'
import { MCP_METHODS } from '../mcp/methods.js'
import { type Result, resultOfCall } from './audit-events.js'
import type { ObservedRequest } from './observed-request.js'

/** Without a limit, callers and targets could create any number of time series. */
const MAX_TOOLS = 1000

/** Measures calls of MCP servers by method and tool. */
export class CallMetrics {
  private readonly duration

  constructor(
    meter: Meter,
    /** The tools in lists of servers. Kept over a reload, since clients do not list them again. */
    private readonly tools: Set<string>,
  ) {
    this.duration = meter.histogram(
      'mcp_server_operation_duration_seconds',
      'Time until a call of an MCP server was answered; only tools in a list of the server have a label of their own',
      ['method', 'tool', 'outcome'],
    )
  }

  readonly toolsListed = (names: Iterable<string>): void => {
    for (const name of names) {
      if (this.tools.size >= MAX_TOOLS) return
      this.tools.add(name)
    }
  }

  record(observed: ObservedRequest, durationMs: number, result: Result): void {
    const { message, body } = observed
    // The request had calls that could not be read.
    if (message === undefined && body.unreadable !== undefined)
      this.measure(observed, durationMs, 'other', '', result)
    for (const call of message?.calls ?? []) {
      if (call.kind !== 'request') continue
      const method = MCP_METHODS.has(call.method) ? call.method : 'other'
      const [subject] = call.subjects
      const tool = subject?.kind !== 'tool' ? '' : this.tools.has(subject.name) ? subject.name : 'other'
      this.measure(observed, durationMs, method, tool, resultOfCall(observed, call, result))
    }
  }

  private measure(
    observed: ObservedRequest,
    durationMs: number,
    method: string,
    tool: string,
    { outcome }: Result,
  ): void {
    this.duration(durationMs / 1000, { method, tool, outcome }, observed.sampledTraceId)
  }
}
