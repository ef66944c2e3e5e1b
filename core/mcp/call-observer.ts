import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OutgoingHeaders } from '../contract/capabilities/header-source.js'
import type { McpCall, McpMessage } from '../contract/message.js'

/** A failure that an answer with status 200 reports: of a tool (`isError`), or of the call itself. */
export type CallFailure = 'tool_error' | 'rpc_error' | 'token_expired' | 'token_revoked'

/** Gets the results of one request's calls, where a list has audits, metrics or traces. */
export interface CallObserver {
  /** Whether any observer needs the content of answers with status 200. */
  readonly wantsAnswers: boolean
  readonly message: McpMessage | undefined
  /** The body, if it was not parsed yet, and whether its bytes are still arriving. */
  readonly body: { readonly unparsed: Buffer | undefined; isComing: boolean; parse(): void }
  /** The trace headers for the target, and whether they are written into `_meta` too. */
  readonly traceHeaders: OutgoingHeaders
  readonly intoMeta: boolean
  /** Gets the tools that an answer to `tools/list` names, where metrics count calls by tool. */
  readonly toolsListed: ((names: Iterable<string>) => void) | undefined
  /** The forwarder has read the body; `undefined` if it has not kept it. */
  bodyRead(body: Buffer | undefined): void
  callAnswered(id: McpCall['id'], failure: CallFailure | undefined, rpcCode?: number): void
  /** All calls without an answer of their own failed: the server could not read an id, or refused a whole batch. */
  restFailed(failure: CallFailure, rpcCode?: number): void
  answerNotRead(): void
}

// Shared by all copies of this package in a process: a plugin may bring its own.
const OBSERVER = Symbol.for('sallyport call observer')

declare module 'fastify' {
  interface FastifyRequest {
    [OBSERVER]: CallObserver | undefined
  }
}

export function decorateCallObserver(app: FastifyInstance): void {
  app.decorateRequest(OBSERVER, undefined)
}

export const callObserverOf = (request: FastifyRequest): CallObserver | undefined => request[OBSERVER]

export function setCallObserver(request: FastifyRequest, observer: CallObserver): void {
  request[OBSERVER] = observer
}
