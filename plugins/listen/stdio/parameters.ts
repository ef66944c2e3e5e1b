import { randomUUID } from 'node:crypto'
import type { JsonObject } from 'sallyport/toolkit'
import { fieldsOf, headerText, type Message, readMessage } from './messages.js'

/** An argument that is repeated in a header: its path among the arguments, and the header's name. */
interface MirroredParameter {
  readonly path: readonly string[]
  readonly header: string
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/
const MAX_DEPTH = 64
const MAX_PAGES = 100
const MAX_TOOLS = 10_000

/**
 * Repeats arguments of a call in headers. Since 2026-07-28 a tool's schema names these arguments, and a target refuses
 * a call without the headers. A client on stdio sends no headers.
 */
export class ParameterHeaders {
  private readonly tools = new Map<string, readonly MirroredParameter[]>()

  /** `request` sends a request of the bridge's own, and returns the response. */
  constructor(private readonly request: (request: Message) => Promise<Message | undefined>) {}

  /** Reads the response to `tools/list`. */
  learn(response: Message): void {
    const { tools } = fieldsOf(response.single['result'])
    for (const tool of Array.isArray(tools) ? tools : []) {
      const { name, inputSchema } = fieldsOf(tool)
      const mirrored = mirroredIn(inputSchema)
      if (typeof name !== 'string') continue
      this.tools.delete(name)
      if (this.tools.size === MAX_TOOLS) this.tools.clear()
      if (mirrored.length > 0) this.tools.set(name, mirrored)
    }
  }

  headersFor({ single: { method, params } }: Message): Record<string, string> {
    const { name, arguments: given } = fieldsOf(params)
    const mirrored = method === 'tools/call' && typeof name === 'string' ? this.tools.get(name) : undefined
    const headers = (mirrored ?? []).flatMap(({ path, header }) => {
      const text = headerValue(path.reduce((value, key) => fieldsOf(value)[key], given))
      return text === undefined ? [] : [[`mcp-param-${header}`, headerText(text)]]
    })
    return Object.fromEntries(headers)
  }

  /** Lists the target's tools, after the target has refused a call for missing headers. `false` when that fails. */
  async refresh(call: Message): Promise<boolean> {
    let cursor: string | undefined
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const request = listRequest(call, cursor)
      const response = request === undefined ? undefined : await this.request(request)
      if (response?.single['result'] === undefined) return false
      cursor = cursorIn(fieldsOf(response.single['result'])['nextCursor'])
      if (cursor === undefined) return true
    }
    return false
  }
}

const cursorIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** A `tools/list` request with the `_meta` of the call, except for its progress token. */
function listRequest(call: Message, cursor: string | undefined): Message | undefined {
  const { progressToken: _, ...meta } = fieldsOf(fieldsOf(call.single['params'])['_meta'])
  const params = { _meta: meta, ...(cursor !== undefined && { cursor }) }
  const text = JSON.stringify({ jsonrpc: '2.0', id: randomUUID(), method: 'tools/list', params })
  const message = readMessage(Buffer.from(text))
  return 'code' in message ? undefined : message
}

/** The mirrored parameters of a schema, including nested properties. */
function mirroredIn(schema: unknown): readonly MirroredParameter[] {
  const found = new Map<string, MirroredParameter>()
  const queue: { readonly node: JsonObject; readonly path: readonly string[] }[] = [
    { node: fieldsOf(schema), path: [] },
  ]
  for (const { node, path } of queue) {
    for (const [key, value] of Object.entries(fieldsOf(node['properties']))) {
      const property = { node: fieldsOf(value), path: [...path, key] }
      const header = property.node['x-mcp-header']
      if (typeof header === 'string' && TOKEN.test(header) && !found.has(header.toLowerCase()))
        found.set(header.toLowerCase(), { path: property.path, header: header.toLowerCase() })
      if (property.path.length < MAX_DEPTH) queue.push(property)
    }
  }
  return [...found.values()]
}

/** The text of a value; undefined for a number without an exact text. */
function headerValue(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  const exact = typeof value === 'number' && (Number.isSafeInteger(value) || !Number.isInteger(value))
  return exact ? String(value) : undefined
}
