import type { ErrorShape } from 'sallyport'

// JSON-RPC leaves -32000 to -32099 to servers, and the SDKs take -32000 for a failed transport.
const SERVER_ERROR = -32_000

/** MCP clients pair an answer with its request by the id, so an error that answers a POST carries it. */
export const jsonRpcErrors: ErrorShape = ({ code, sentence, requestId }, request) => {
  if (request.method !== 'POST') {
    return { error: code, error_description: sentence, request_id: requestId }
  }
  return {
    jsonrpc: '2.0',
    id: idIn(request.body),
    error: { code: SERVER_ERROR, message: sentence, data: { error: code, request_id: requestId } },
  }
}

/** Parsed only when something has gone wrong; a batch has no id of its own. */
function idIn(body: unknown): string | number | null {
  if (!Buffer.isBuffer(body)) return null
  try {
    const { id }: { id?: unknown } = JSON.parse(body.toString()) ?? {}
    return typeof id === 'string' || typeof id === 'number' ? id : null
  } catch {
    return null
  }
}
