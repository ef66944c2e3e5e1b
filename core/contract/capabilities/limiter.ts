import { one } from '../capability.js'
import type { McpMessage } from '../message.js'

/**
 * The caller and the address that a request counts for. Each is a text that no other caller or address has, whatever
 * callers send.
 */
export interface LimitKey {
  /**
   * Provider and subject of the caller; its address where callers need no credentials. `undefined` for a request
   * that was refused for missing or invalid credentials: it counts for its address alone.
   */
  readonly caller: string | undefined
  /** `undefined` for a request that a plugin has dispatched: it has no client of its own. */
  readonly address: string | undefined
}

/** A limit that a request is over. */
export interface LimitReached {
  /** Milliseconds after which the request could go on; `Infinity` when it costs more than is ever allowed at once. */
  readonly wait: number
  /** The name of the limit, for the log: `limits[2]`. */
  readonly limit: string
}

/**
 * 0 when a request may go on. Otherwise the limit that it is over or, from a limiter with one limit, the
 * milliseconds to wait.
 */
export type LimitAnswer = number | LimitReached

/**
 * Decides how often callers may send requests. It gets each request after authentication: accepted requests, also
 * upgrades and event streams, and requests that were refused with 401. When it throws, or its promise does not
 * settle in time, the gate refuses the request.
 */
export interface Limiter {
  /** Counts a request with this cost, a whole number from 1. A request that it refuses uses up no limit. */
  take(key: LimitKey, cost: number): LimitAnswer | Promise<LimitAnswer>
  /**
   * Counts the calls of a body, after `take` has accepted its request with cost 1 and the policies have allowed it:
   * each call of a batch after the first counts like a request, and each call counts for the tool that it names.
   */
  takeCalls?(key: LimitKey, message: McpMessage): LimitAnswer | Promise<LimitAnswer>
  /**
   * `false` when `takeCalls` needs batches alone: it then gets batches, and bodies that the gate reads for policies.
   * By default the gate reads every body, and refuses one that is no JSON-RPC message.
   */
  readonly readsBodies?: boolean
}

/** A scope with its own limiter uses only that one. */
export const Limiter = one<Limiter>('limiter')
