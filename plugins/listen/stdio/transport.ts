import type { Log } from 'sallyport'
import type { Call } from './call.js'
import type { Message } from './messages.js'

/** Sends messages to the target, and receives the target's messages. */
export interface Transport {
  /** A different object for each session. */
  readonly session: object
  send(call: Call): SendProgress
  /** Ends the session with the target, if it has one. */
  close(signal: AbortSignal): Promise<void>
}

export interface SendProgress {
  /** Resolves when the message is sent, and the next may follow. */
  readonly flushed: Promise<void>
  /** Resolves when the target has begun its response, or will never begin one. */
  readonly accepted: Promise<void>
  /** Resolves when the call is over. It never rejects: `TransportContext.fail` gets each failure. */
  readonly done: Promise<void>
}

/** The functions that the conversation offers to its transport. */
export interface TransportContext {
  readonly log: Log
  /** Aborts everything that is open. */
  readonly ending: AbortSignal
  /** The most bytes of a message. */
  readonly maxMessage: number
  receive(message: Message): Promise<void>
  /** Sends the client an error for each open request of a call. A call without requests is only logged. */
  fail(call: Call, error: { readonly code: number; readonly message: string }): Promise<void>
  /** Sends a request of the bridge's own, and returns the response; the client sees neither. */
  request(request: Message): Promise<Message | undefined>
  /** Sets up a new session instead of the lost one; `false` when that is not safe. */
  renewSession(lost: object): Promise<boolean>
  /** The target refused `initialize`; `true` when the older transport took it. */
  fallBackToLegacy(call: Call): Promise<boolean>
}

/** JSON-RPC leaves -32000 to -32099 to the implementation. */
export const unavailable = (message: string) => ({ code: -32_000, message })

export const SESSION_ENDED = unavailable(
  'the session with the target has ended: try again later, or start this server again',
)
