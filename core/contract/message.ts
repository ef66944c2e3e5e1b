/** The subject of a call: a tool, a prompt, or a resource by its URI. */
export interface McpSubject {
  readonly kind: 'tool' | 'prompt' | 'resource'
  /** The name after the escapes of JSON are resolved; nothing in it is folded, decoded or trimmed. */
  readonly name: string
}

/** One JSON-RPC message of a body, without its arguments. */
export interface McpCall {
  readonly kind: 'request' | 'notification' | 'response'
  /** Empty for a response. */
  readonly method: string
  /** The id of a request. */
  readonly id?: string | number | null
  /**
   * The id as the client wrote it, for a message outside a batch whose id is a number that JavaScript cannot hold
   * exactly.
   */
  readonly idText?: string
  /** The subjects that it names: none for most methods, several for a subscription to several resources. */
  readonly subjects: readonly McpSubject[]
  /** The trace context in its `_meta`. */
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
  /** One call, or the calls of a batch in their order. */
  readonly calls: readonly McpCall[]
}
