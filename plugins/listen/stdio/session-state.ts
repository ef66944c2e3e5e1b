import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from 'sallyport/toolkit'
import { fieldsOf, type Message } from './messages.js'

/** Records the client's messages that set the state of a session, to send them again in a new one. */
export class SessionState {
  private readonly recorded = new Map<string, Message>()
  private negotiated: JsonObject | undefined

  /** Records a message that was sent. */
  recordSent(message: Message): void {
    const { method } = message.single
    if (method === 'initialize') this.recorded.clear()
    if (method === 'initialize' || method === 'notifications/initialized') this.recorded.set(method, message)
  }

  /** Records a message whose request succeeded: the target would refuse a refused one in a new session too. */
  recordDone(message: Message): void {
    const { method, params } = message.single
    const { uri } = fieldsOf(params)
    if (method === 'resources/unsubscribe') this.recorded.delete(`resources/subscribe ${String(uri)}`)
    else if (method === 'resources/subscribe') this.recorded.set(`${method} ${String(uri)}`, message)
    else if (method === 'logging/setLevel') this.recorded.set(method, message)
  }

  /** The recorded messages, `initialize` first; empty without `initialize`. */
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

  /** Whether a new session is like the old one after this message, so that the client can continue in it. */
  isRestoredBy({ single: { method } }: Message, response: Message | undefined): boolean {
    if (method !== 'initialize') return response?.single['error'] === undefined
    const offered = fieldsOf(response?.single['result'])
    return (
      this.negotiated !== undefined &&
      ['protocolVersion', 'capabilities'].every((name) =>
        isDeepStrictEqual(offered[name], this.negotiated?.[name]),
      )
    )
  }
}
