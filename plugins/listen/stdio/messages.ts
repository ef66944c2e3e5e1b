import { isUtf8 } from 'node:buffer'
import { isJsonObject, type JsonObject } from 'sallyport/toolkit'
import { shortenedJson } from './shortened-json.js'

/** A JSON-RPC message, or a batch of them: its bytes, and the fields that routing needs. */
export interface Message {
  readonly bytes: Buffer
  /** Ids of the requests in it, as JSON text, so that `1` and `"1"` stay different. */
  readonly requestIds: readonly string[]
  readonly responseIds: readonly string[]
  /** The fields of a single message; none for a batch. */
  readonly single: JsonObject
}

/** Why bytes are not a message, with the error code of JSON-RPC. */
export interface InvalidMessage {
  readonly code: -32700 | -32600
  readonly message: string
  readonly id: string
}

// Above this size, scanning the bytes twice costs less than the memory of a copy.
const LARGE = 1024 * 1024

const NO_FIELDS: JsonObject = {}

export function readMessage(bytes: Buffer): Message | InvalidMessage {
  let parsed: unknown
  try {
    if (!isUtf8(bytes)) throw new TypeError('not UTF-8')
    parsed = JSON.parse(bytes.length > LARGE ? shortenedJson(bytes) : bytes.toString())
  } catch {
    return { code: -32700, message: 'Parse error: this line is not JSON in UTF-8', id: 'null' }
  }
  const items: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed]
  const requestIds: string[] = []
  const responseIds: string[] = []
  for (const item of items) {
    const kind = kindOf(item)
    if (kind === undefined) return invalid(idOf(item))
    if (kind === 'request') requestIds.push(idOf(item) ?? 'null')
    if (kind === 'response') responseIds.push(idOf(item) ?? 'null')
  }
  if (items.length === 0) return invalid(undefined)
  return { bytes, requestIds, responseIds, single: fieldsOf(parsed) }
}

const invalid = (id: string | undefined): InvalidMessage => ({
  code: -32600,
  message: 'Invalid Request: this is JSON, but no JSON-RPC message',
  id: id ?? 'null',
})

/** The fields of an object; of anything else, none. */
export const fieldsOf = (value: unknown): JsonObject => (isJsonObject(value) ? value : NO_FIELDS)

function kindOf(item: unknown): 'request' | 'notification' | 'response' | undefined {
  const { id, method, result, error } = fieldsOf(item)
  const known = typeof id === 'string' || typeof id === 'number'
  if (typeof method === 'string') return id === undefined ? 'notification' : known ? 'request' : undefined
  if (result === undefined && error === undefined) return undefined
  return known || id === null || (id === undefined && error !== undefined) ? 'response' : undefined
}

function idOf(item: unknown): string | undefined {
  const { id } = fieldsOf(item)
  return typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : undefined
}

/** The id of the request that this message cancels, as JSON text. */
export function cancelledId({ single: { method, params } }: Message): string | undefined {
  if (method !== 'notifications/cancelled') return undefined
  const { requestId } = fieldsOf(params)
  return typeof requestId === 'string' || typeof requestId === 'number'
    ? JSON.stringify(requestId)
    : undefined
}

/** The protocol version in a message: all messages have it since 2026-07-28, and then need no session. */
export function versionOf({ single: { params } }: Message): string | undefined {
  const version = fieldsOf(fieldsOf(params)['_meta'])['io.modelcontextprotocol/protocolVersion']
  return typeof version === 'string' && isHeaderSafe(version) ? version : undefined
}

/** The headers of 2026-07-28 that repeat parts of a message for intermediaries, which route by them. */
export function routingHeaders({ single: { method, params } }: Message): Record<string, string> {
  if (typeof method !== 'string') return {}
  const field = NAME_FIELDS.get(method)
  const named = field === undefined ? undefined : fieldsOf(params)[field]
  return {
    'mcp-method': headerText(method),
    ...(typeof named === 'string' && { 'mcp-name': headerText(named) }),
  }
}

const NAME_FIELDS: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** Whether a header can carry the text as it is. */
export const isHeaderSafe = (text: string): boolean => /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)

/** Text that a header cannot carry, or that looks encoded already, is sent in base64. */
export const headerText = (text: string): string =>
  isHeaderSafe(text) && !text.startsWith('=?base64?')
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`
