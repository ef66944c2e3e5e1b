import type { Log } from 'sallyport'
import type { Call } from './call.js'
import type { Message } from './messages.js'

/** A way to bring messages to the target, and those of the target back. */
export interface Carrier {
  /** Is another object after each new session. */
  readonly session: object
  deliver(call: Call): Delivery
  /** Says goodbye, if the target cares. */
  close(signal: AbortSignal): Promise<void>
}

export interface Delivery {
  /** The message has left; the next may follow. */
  readonly flushed: Promise<void>
  /** The target has begun to answer, or never will. */
  readonly taken: Promise<void>
  /** Nothing of it is under way any more. It never fails: what went wrong was told to the desk. */
  readonly done: Promise<void>
}

/** Where a carrier hands in what it brings. */
export interface Desk {
  readonly log: Log
  /** Ends everything that is under way. */
  readonly ending: AbortSignal
  /** The most bytes of a message. */
  readonly most: number
  receive(message: Message): Promise<void>
  /** Answers what of a call is open with an error. A call that asks nothing is only logged. */
  fail(call: Call, error: { readonly code: number; readonly message: string }): Promise<void>
  /** Brings a request to the target of which the client hears nothing, and its answer back. */
  ask(request: Message): Promise<Message | undefined>
  /** Brings a new session to where that one was; `false` when that is not safe. */
  renew(lost: object): Promise<boolean>
  /** The target does not take `initialize` as it was sent; `true` when an older way was found. */
  fallBack(call: Call): Promise<boolean>
}

/** JSON-RPC leaves -32000 to -32099 to the implementation. */
export const unavailable = (message: string) => ({ code: -32_000, message })
