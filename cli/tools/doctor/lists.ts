import type { IncomingMessage } from 'node:http'
import type { ListedSubject, Probes } from 'sallyport'
import {
  EventStreamParser,
  isJsonObject,
  type JsonObject,
  jsonObject,
  MCP_LISTS,
  type McpList,
  TOO_LONG,
} from 'sallyport/toolkit'
import { INITIALIZE } from './greeting.js'
import { type McpRequest, mcpSender, type SendMcp } from './mcp-request.js'

const TIMEOUT = 20_000
const MAX_BYTES = 16 * 1024 * 1024
const MAX_PAGES = 100
const METHOD_NOT_FOUND = -32_601
const STATELESS = '2026-07-28'
const PREFIX = 'io.modelcontextprotocol/'

/** Reads all lists of an MCP server, as a client of its version would. */
export const lists: Probes['lists'] = async (url, options) => {
  const reader = new ListReader(await mcpSender(url, options))
  try {
    if (!(await reader.begin())) return undefined
    const listed: ListedSubject[] = []
    let complete = true
    for (const list of MCP_LISTS.filter(({ method }) => reader.offers(method))) {
      const found = await reader.all(list)
      listed.push(...found.listed)
      complete &&= found.complete
    }
    return { listed, complete }
  } finally {
    await reader.end()
  }
}

class ListReader {
  private readonly signal = AbortSignal.timeout(TIMEOUT)
  private readonly budget: ByteBudget = { left: MAX_BYTES }
  private headers: Readonly<Record<string, string>> = {}
  private meta: JsonObject | undefined
  private capabilities: JsonObject | undefined
  private lastId = 1

  constructor(private readonly sendMcp: SendMcp) {}

  /** Whether the server has the capability that a method begins with, or the extension of that name. */
  offers(method: string): boolean {
    const { capabilities } = this
    if (capabilities === undefined) return true
    const [name = ''] = method.split('/')
    const { extensions } = capabilities
    return name in capabilities || (isJsonObject(extensions) && `${PREFIX}${name}` in extensions)
  }

  /** Begins a session, or goes on without one where the server has none. False when the server needs a credential. */
  async begin(): Promise<boolean> {
    const response = await this.send({ body: INITIALIZE })
    const { statusCode: status = 0, headers } = response
    if (isRefusal(status)) {
      response.destroy()
      return false
    }
    const result = (await answerIn(response, 1, this.budget))?.['result']
    if (isJsonObject(result)) {
      const { protocolVersion, capabilities } = result
      const session = headers['mcp-session-id']
      this.headers = {
        'mcp-protocol-version': String(protocolVersion),
        ...(typeof session === 'string' && { 'mcp-session-id': session }),
      }
      this.capabilities = isJsonObject(capabilities) ? capabilities : {}
      const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
      const noted = await this.send({ body })
      noted.destroy()
      return true
    }
    this.headers = { 'mcp-protocol-version': STATELESS }
    this.meta = {
      [`${PREFIX}protocolVersion`]: STATELESS,
      [`${PREFIX}clientInfo`]: { name: 'sallyport doctor', version: '1' },
      [`${PREFIX}clientCapabilities`]: {},
    }
    return this.discover()
  }

  private async discover(): Promise<boolean> {
    const answer = await this.ask('server/discover', {})
    if (answer === 'refused') return false
    const { capabilities } = answer
    this.capabilities = isJsonObject(capabilities) ? capabilities : {}
    return true
  }

  async all({ method, member, kind, key }: McpList) {
    const listed: ListedSubject[] = []
    let cursor: unknown
    for (let page = 0; page < MAX_PAGES; page++) {
      const result = await this.ask(method, cursor === undefined ? {} : { cursor })
      if (result === 'refused') throw new Error(`it refuses ${method}`)
      const items: readonly unknown[] = Array.isArray(result[member]) ? result[member] : []
      for (const item of items) {
        const name = isJsonObject(item) ? item[key] : undefined
        if (typeof name === 'string') listed.push({ kind, name })
      }
      const next = result['nextCursor']
      if (typeof next !== 'string' || next === '') return { listed, complete: true }
      cursor = next
    }
    return { listed, complete: false }
  }

  /** A list that the server does not have is empty. */
  private async ask(method: string, params: JsonObject): Promise<JsonObject | 'refused'> {
    const id = ++this.lastId
    const meta = this.meta === undefined ? {} : { _meta: this.meta }
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, ...meta } })
    const response = await this.send({
      body,
      ...(this.meta !== undefined && { headers: { 'mcp-method': method } }),
    })
    const { statusCode: status = 0 } = response
    if (isRefusal(status)) {
      response.destroy()
      return 'refused'
    }
    const answer = await answerIn(response, id, this.budget)
    if (isJsonObject(answer?.['result'])) return answer['result']
    const error = answer?.['error']
    if (isJsonObject(error) && error['code'] === METHOD_NOT_FOUND && method !== 'server/discover') return {}
    throw new Error(`it answers ${status} to ${method}, without a result`)
  }

  async end(): Promise<void> {
    if (this.headers['mcp-session-id'] === undefined) return
    // Servers may refuse to end a session.
    const ended = await this.send({ method: 'DELETE' }).catch(() => undefined)
    ended?.destroy()
  }

  private send({ headers, ...request }: McpRequest) {
    return this.sendMcp({ ...request, headers: { ...this.headers, ...headers }, signal: this.signal })
  }
}

const isRefusal = (status: number): boolean => status === 401 || status === 403

/** The number of bytes that may still be read. */
interface ByteBudget {
  left: number
}

/** The JSON-RPC response to a request, from a JSON body or an event stream; undefined when there is none. */
async function answerIn(
  response: IncomingMessage,
  id: number,
  budget: ByteBudget,
): Promise<JsonObject | undefined> {
  const isStream = /^text\/event-stream\b/i.test(response.headers['content-type'] ?? '')
  const events = new EventStreamParser(budget.left)
  const pieces: Buffer[] = []
  try {
    for await (const given of response) {
      const piece: Buffer = given
      budget.left -= piece.length
      if (budget.left < 0) throw new Error('its lists are too long for doctor to read')
      if (!isStream) pieces.push(piece)
      else {
        for (const event of events.parse(piece)) {
          const answer = event === TOO_LONG ? undefined : jsonObject(event.data.toString())
          if (answer?.['id'] === id) return answer
        }
      }
    }
    return isStream ? undefined : jsonObject(Buffer.concat(pieces).toString())
  } finally {
    // The stream may be endless.
    response.destroy()
  }
}
