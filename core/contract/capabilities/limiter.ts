import { one } from '../capability.js'
import type { McpMessage } from '../message.js'

/** Whom a request counts for. Each part is a text that nobody else has, whatever callers write into it. */
export interface LimitKey {
  /**
   * Who sent it: provider and subject; the address where nobody was asked. `undefined` for a request that was refused
   * since it lacked good credentials: such a one counts for its address alone.
   */
  readonly caller: string | undefined
  /** `undefined` for a request that a plugin has dispatched: it has no client of its own. */
  readonly address: string | undefined
}

/** A limit that a request is over. */
export interface LimitReached {
  /** Milliseconds after which the request could go on; `Infinity` when it costs more than is ever allowed at once. */
  readonly wait: number
  /** Which one it is, for the log: `limits[2]`. */
  readonly limit: string
}

/** 0 when a request may go on; a limiter that has several limits says which one it is over, and one that has not its wait. */
export type LimitAnswer = number | LimitReached

/**
 * Decides how often callers may send requests. It gets each request after authentication: those that were let in, upgrades
 * and event streams too, and those that were refused with 401. When it throws, or its promise does not settle in time,
 * the request is refused.
 */
export interface Limiter {
  /** Counts a request with this cost, a whole number from 1. What is refused counts for nothing else. */
  take(key: LimitKey, cost: number): LimitAnswer | Promise<LimitAnswer>
  /**
   * Counts what a body calls, after `take` has let its request in with cost 1 and the policies have allowed it: each call
   * of a batch beyond the first like a request, and each by the tool that it names.
   */
  takeCalls?(key: LimitKey, message: McpMessage): LimitAnswer | Promise<LimitAnswer>
  /**
   * `false` when `takeCalls` needs batches alone: it gets these, and what is read for policies. By default every body is
   * read, and one that is no JSON-RPC message is refused.
   */
  readonly readsBodies?: boolean
}

/** A scope with a limiter of its own has that one alone. */
export const Limiter = one<Limiter>('limiter')
