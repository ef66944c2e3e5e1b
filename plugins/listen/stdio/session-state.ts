import { isDeepStrictEqual } from 'node:util'
import { type Fields, fieldsOf, type Message } from './messages.js'

/** The client's messages that set the state of a session, so that they can be sent again in a new one. */
export class SessionState {
  private readonly recorded = new Map<string, Message>()
  private negotiated: Fields | undefined

  record(message: Message): void {
    const { method, params } = message.single
    const { uri } = fieldsOf(params)
    if (method === 'initialize') this.recorded.clear()
    if (method === 'resources/unsubscribe') this.recorded.delete(`resources/subscribe ${String(uri)}`)
    else if (method === 'resources/subscribe') this.recorded.set(`${method} ${String(uri)}`, message)
    else if (typeof method === 'string' && RECORDED.has(method)) {
      this.recorded.delete(method)
      this.recorded.set(method, message)
    }
  }

  /** `initialize` first; empty when there was none. */
  get messages(): readonly Message[] {
    return [...this.recorded.values()]
  }

  /** Whether this is the response to `initialize`. */
  isInitializeResponse({ responseIds, single }: Message): boolean {
    const [id] = this.recorded.get('initialize')?.requestIds ?? []
    return id !== undefined && responseIds.includes(id) && single['result'] !== undefined
  }

  recordNegotiated(response: Message): void {
    this.negotiated = fieldsOf(response.single['result'])
  }

  /** Whether a new session has the same version and capabilities, so that the client can continue in it. */
  matches(response: Message): boolean {
    const offered = fieldsOf(response.single['result'])
    return (
      this.negotiated !== undefined &&
      ['protocolVersion', 'capabilities'].every((name) =>
        isDeepStrictEqual(offered[name], this.negotiated?.[name]),
      )
    )
  }
}

const RECORDED: ReadonlySet<string> = new Set(['initialize', 'notifications/initialized', 'logging/setLevel'])
