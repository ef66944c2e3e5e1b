import type { FastifyRequest } from 'fastify'
import type { ErrorShape, PublicError } from '../contract/error-shape.js'
import { isJsonObject } from '../toolkit/json-object.js'
import { messageRead } from './message.js'
import { idTextIn, needsText, replyId } from './message-id.js'

// JSON-RPC leaves -32000 to -32099 to servers, and the SDKs take -32000 for a failed transport.
const SERVER_ERROR = -32_000

const ERRORS: Readonly<Record<string, number>> = {
  too_many_requests: 429,
  message_not_json: -32_700,
  message_encoding: -32_700,
  message_content_type: -32_600,
  message_malformed: -32_600,
  message_ambiguous: -32_600,
  message_too_large: -32_600,
  message_unnamed: -32_602,
  // As the protocol defines it from 2026-07-28 on.
  message_header_mismatch: -32_020,
}

/** MCP clients match a response to its request by the id, so an error for a POST carries it. */
export const jsonRpcErrors: ErrorShape = ({ code, sentence, requestId }, request) => {
  if (request.method !== 'POST') {
    return { error: code, error_description: sentence, request_id: requestId }
  }
  return {
    jsonrpc: '2.0',
    id: idOf(request),
    error: {
      code: ERRORS[code] ?? SERVER_ERROR,
      message: sentence,
      data: { error: code, request_id: requestId },
    },
  }
}

/**
 * An error as an event: the answer to the one call of a request whose event stream fails. `undefined` without such a
 * call.
 */
export function errorEvent(error: PublicError, request: FastifyRequest): Buffer | undefined {
  if (request.method !== 'POST' || idOf(request) === null) return undefined
  return Buffer.from(`data: ${JSON.stringify(jsonRpcErrors(error, request))}\n\n`)
}

// Parsing blocks the event loop: a body of this length takes well under a millisecond.
const MAX_PARSED = 64 * 1024

function idOf(request: FastifyRequest): unknown {
  const message = messageRead(request)
  if (message === undefined) return idIn(request.body)
  return message.isBatch ? null : replyId(message.calls[0] ?? {})
}

/** The id in a body that no message was read from. A batch has no id of its own, and a large body is not parsed. */
function idIn(body: unknown): unknown {
  if (isJsonObject(body) && !Buffer.isBuffer(body)) return validId(body['id'])
  if (!Buffer.isBuffer(body) || body.length > MAX_PARSED) return null
  const text = body.toString()
  try {
    const { id }: { id?: unknown } = JSON.parse(text) ?? {}
    const idText = needsText(id) ? idTextIn(text) : undefined
    return idText === undefined ? validId(id) : replyId({ id: null, idText })
  } catch {
    return null
  }
}

const validId = (id: unknown): unknown => (typeof id === 'string' || typeof id === 'number' ? id : null)
