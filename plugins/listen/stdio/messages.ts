import { isUtf8 } from 'node:buffer'
import { outlineOf } from './outline.js'

/** A JSON-RPC message, or a batch of them: its bytes, and what of it decides where it goes. */
export interface Message {
  readonly bytes: Buffer
  /** Ids of the requests in it, as JSON text, so that `1` and `"1"` stay two. */
  readonly asks: readonly string[]
  readonly answers: readonly string[]
  /** The fields of a single message; none for a batch. */
  readonly single: Fields
}

export type Fields = Readonly<Record<string, unknown>>

/** What is no message, with the code that JSON-RPC has for it. */
export interface Fault {
  readonly code: -32700 | -32600
  readonly sentence: string
  readonly id: string
}

// From here on a second reading costs less than the memory.
const LARGE = 1024 * 1024

const NO_FIELDS: Fields = {}

export function readMessage(bytes: Buffer): Message | Fault {
  let parsed: unknown
  try {
    if (!isUtf8(bytes)) throw new TypeError('not UTF-8')
    parsed = JSON.parse(bytes.length > LARGE ? outlineOf(bytes) : bytes.toString())
  } catch {
    return { code: -32700, sentence: 'Parse error: this line is not JSON in UTF-8', id: 'null' }
  }
  const items: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed]
  const asks: string[] = []
  const answers: string[] = []
  for (const item of items) {
    const kind = kindOf(item)
    if (kind === undefined) return invalid(idOf(item))
    if (kind === 'ask') asks.push(idOf(item) ?? 'null')
    if (kind === 'answer') answers.push(idOf(item) ?? 'null')
  }
  if (items.length === 0) return invalid(undefined)
  return { bytes, asks, answers, single: Array.isArray(parsed) ? NO_FIELDS : fieldsOf(parsed) }
}

const invalid = (id: string | undefined): Fault => ({
  code: -32600,
  sentence: 'Invalid Request: this is JSON, but no JSON-RPC message',
  id: id ?? 'null',
})

/** The fields of an object; of anything else, none. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : NO_FIELDS

function kindOf(item: unknown): 'ask' | 'tell' | 'answer' | undefined {
  const { id, method, result, error } = fieldsOf(item)
  const known = typeof id === 'string' || typeof id === 'number'
  if (typeof method === 'string') return id === undefined ? 'tell' : known ? 'ask' : undefined
  if (result === undefined && error === undefined) return undefined
  return known || id === null || (id === undefined && error !== undefined) ? 'answer' : undefined
}

function idOf(item: unknown): string | undefined {
  const { id } = fieldsOf(item)
  return typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : undefined
}

/** What the client gives up on with this message, as JSON text of its id. */
export function cancelledBy({ single: { method, params } }: Message): string | undefined {
  if (method !== 'notifications/cancelled') return undefined
  const { requestId } = fieldsOf(params)
  return typeof requestId === 'string' || typeof requestId === 'number'
    ? JSON.stringify(requestId)
    : undefined
}

/** The version that a message brings along by itself, as all do since 2026-07-28. Such a message needs no session. */
export function versionOf({ single: { params } }: Message): string | undefined {
  const version = fieldsOf(fieldsOf(params)['_meta'])['io.modelcontextprotocol/protocolVersion']
  return typeof version === 'string' && isPlain(version) ? version : undefined
}

/** What the headers of 2026-07-28 repeat of a message, so that what stands between can route by it. */
export function routingHeaders({ single: { method, params } }: Message): Record<string, string> {
  if (typeof method !== 'string') return {}
  const field = NAMED.get(method)
  const named = field === undefined ? undefined : fieldsOf(params)[field]
  return {
    'mcp-method': headerText(method),
    ...(typeof named === 'string' && { 'mcp-name': headerText(named) }),
  }
}

const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** Whether a header can hold it as it is. */
export const isPlain = (text: string): boolean => /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)

/** What a header cannot hold, or would seem to be encoded already, goes in base64. */
export const headerText = (text: string): string =>
  isPlain(text) && !text.startsWith('=?base64?') ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
