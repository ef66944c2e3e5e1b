/** What a call asks for by name: a tool, a prompt, or a resource by its URI. */
export interface McpSubject {
  readonly kind: 'tool' | 'prompt' | 'resource'
  /** As it is once JSON's escapes are read: nothing is folded, decoded or trimmed. */
  readonly name: string
}

/** One JSON-RPC message of a body: what it calls, and never its arguments. */
export interface McpCall {
  readonly kind: 'request' | 'notification' | 'response'
  /** Empty for a response. */
  readonly method: string
  /** Of a request. */
  readonly id?: string | number | null
  /** That of a message alone as it came, where it is a number that none of JavaScript's is exactly. */
  readonly idText?: string
  /** What it names: nothing for most methods, several for a subscription to several resources. */
  readonly subjects: readonly McpSubject[]
  /** What its `_meta` says of the trace that it belongs to. */
  readonly trace?: TraceContext
}

/** W3C Trace Context as a caller sent it: nothing in it was checked. */
export interface TraceContext {
  readonly traceparent: string
  readonly tracestate?: string
}

/** The body of a request to an MCP server. */
export interface McpMessage {
  /** As the `MCP-Protocol-Version` header says. */
  readonly protocolVersion: string | undefined
  readonly isBatch: boolean
  /** One; those of a batch in their order. */
  readonly calls: readonly McpCall[]
}
