import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { OutgoingHeaders } from '../contract/capabilities/header-source.js'
import type { McpCall, McpMessage } from '../contract/message.js'

/** A failure that an answer with status 200 tells: of a tool (`isError`), or of the call itself. */
export type CallFailure = 'tool_error' | 'rpc_error' | 'token_expired' | 'token_revoked'

/** Gets what becomes of the calls of one request, where a list has audits, metrics or traces. */
export interface CallObserver {
  /** Whether it matters to anybody what an answer with status 200 says. */
  readonly wantsAnswers: boolean
  readonly message: McpMessage | undefined
  /** The body, where it was not parsed yet, and whether its bytes are still on their way. */
  readonly body: { readonly unparsed: Buffer | undefined; isComing: boolean; parse(): void }
  /** What the target gets of the trace, and whether it is written into `_meta` too. */
  readonly traceHeaders: OutgoingHeaders
  readonly intoMeta: boolean
  /** Takes the tools that an answer to `tools/list` names, where somebody counts calls by them. */
  readonly toolsListed: ((names: Iterable<string>) => void) | undefined
  /** The forwarder has the body, or has not kept it. */
  bodyRead(body: Buffer | undefined): void
  callAnswered(id: McpCall['id'], failure: CallFailure | undefined, rpcCode?: number): void
  /** No answer names them: the server could not read an id, or has refused a batch as a whole. */
  restFailed(failure: CallFailure, rpcCode?: number): void
  answerNotRead(): void
}

// For all copies of this package in a process: a plugin may bring one of its own.
const OBSERVER = Symbol.for('sallyport call observer')

declare module 'fastify' {
  interface FastifyRequest {
    [OBSERVER]: CallObserver | undefined
  }
}

/** Has all requests of an application begin with a place for it. */
export function decorateCallObserver(app: FastifyInstance): void {
  app.decorateRequest(OBSERVER, undefined)
}

export const callObserverOf = (request: FastifyRequest): CallObserver | undefined => request[OBSERVER]

export function setCallObserver(request: FastifyRequest, observer: CallObserver): void {
  request[OBSERVER] = observer
}
