import { randomUUID } from 'node:crypto'
import { type Fields, fieldsOf, headerText, type Message, readMessage } from './messages.js'

/** An argument that stands in a header too: where it is among the arguments, and the name that the tool gave it. */
interface Mirrored {
  readonly path: readonly string[]
  readonly header: string
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/
const DEEPEST = 64
const MOST_PAGES = 100
const MOST_TOOLS = 10_000

/**
 * Which arguments of which tool a call repeats in headers. Since 2026-07-28 a tool's schema says so, and a target
 * refuses a call without them. A client on stdio knows of no headers.
 */
export class Parameters {
  private readonly tools = new Map<string, readonly Mirrored[]>()

  /** `list` brings a request to the target by itself, and its answer back. */
  constructor(private readonly list: (request: Message) => Promise<Message | undefined>) {}

  /** Reads the answer to `tools/list`. */
  learn(answer: Message): void {
    const { tools } = fieldsOf(answer.single['result'])
    for (const tool of Array.isArray(tools) ? tools : []) {
      const { name, inputSchema } = fieldsOf(tool)
      const mirrored = mirroredIn(inputSchema)
      if (typeof name !== 'string') continue
      this.tools.delete(name)
      if (this.tools.size === MOST_TOOLS) this.tools.clear()
      if (mirrored.length > 0) this.tools.set(name, mirrored)
    }
  }

  headersFor({ single: { method, params } }: Message): Record<string, string> {
    const { name, arguments: given } = fieldsOf(params)
    const mirrored = method === 'tools/call' && typeof name === 'string' ? this.tools.get(name) : undefined
    const headers = (mirrored ?? []).flatMap(({ path, header }) => {
      const text = textOf(path.reduce((value, key) => fieldsOf(value)[key], given))
      return text === undefined ? [] : [[`mcp-param-${header}`, headerText(text)]]
    })
    return Object.fromEntries(headers)
  }

  /** Asks the target for its tools, for a call that it refused since headers are missing. `false` when it does not say. */
  async refresh(call: Message): Promise<boolean> {
    let cursor: string | undefined
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const request = listing(call, cursor)
      const answer = request === undefined ? undefined : await this.list(request)
      if (answer?.single['result'] === undefined) return false
      cursor = cursorIn(fieldsOf(answer.single['result'])['nextCursor'])
      if (cursor === undefined) return true
    }
    return false
  }
}

const cursorIn = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** In the name of whoever makes the call, and for nobody's progress. */
function listing(call: Message, cursor: string | undefined): Message | undefined {
  const { progressToken: _, ...meta } = fieldsOf(fieldsOf(call.single['params'])['_meta'])
  const params = { _meta: meta, ...(cursor !== undefined && { cursor }) }
  const text = JSON.stringify({ jsonrpc: '2.0', id: randomUUID(), method: 'tools/list', params })
  const message = readMessage(Buffer.from(text))
  return 'code' in message ? undefined : message
}

/** Properties count wherever a chain of properties leads to them. */
function mirroredIn(schema: unknown): readonly Mirrored[] {
  const found = new Map<string, Mirrored>()
  const open: { readonly node: Fields; readonly path: readonly string[] }[] = [
    { node: fieldsOf(schema), path: [] },
  ]
  for (const { node, path } of open) {
    for (const [key, value] of Object.entries(fieldsOf(node['properties']))) {
      const property = { node: fieldsOf(value), path: [...path, key] }
      const header = property.node['x-mcp-header']
      if (typeof header === 'string' && TOKEN.test(header) && !found.has(header.toLowerCase()))
        found.set(header.toLowerCase(), { path: property.path, header: header.toLowerCase() })
      if (property.path.length < DEEPEST) open.push(property)
    }
  }
  return [...found.values()]
}

/** A number that cannot be told exactly is not told. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  const exact = typeof value === 'number' && (Number.isSafeInteger(value) || !Number.isInteger(value))
  return exact ? String(value) : undefined
}
