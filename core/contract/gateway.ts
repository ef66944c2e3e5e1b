import type { Duplex } from 'node:stream'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Logger } from 'pino'
import type { Many, One } from './capability.js'
import type { Meter } from './meter.js'
import type { Scrubber } from './scrubber.js'

/** Where a gateway can be reached, once its ports are open. */
export interface Addresses {
  readonly main?: string
  readonly internal?: string
  /** The public origin of the main port, once it is known. */
  readonly public?: string
}

/**
 * The interface that `setup` gets. It belongs to one entry of the list: every message about a capability, hook or
 * route that came through it names this entry.
 */
export interface Gateway {
  /** The entry's name in the list. */
  readonly id: string
  /** The path of the entry's scope, empty at the root. */
  readonly scope: string
  /** Its lines have the entry's name. Tokens, cookies, queries and secrets are removed from them. */
  readonly log: Logger
  /** Code that opens a secret adds it here, so that no line of the log shows it. */
  readonly scrubber: Scrubber
  readonly meter: Meter
  /**
   * The main port, below the scope's path. Every route needs an authenticated caller, except one with
   * `config: { public: true }`.
   */
  readonly http: FastifyInstance
  /** The main port from its root, with the root's gate: for paths that a standard fixes, such as `/.well-known`. */
  readonly root: FastifyInstance
  /** The internal port. It needs no credentials. */
  readonly internal: FastifyInstance

  /**
   * A path from the options, relative to the folder of the configuration; undefined for an option that is not set.
   */
  path<T extends string | undefined>(path: T): T | string

  provide<T>(capability: One<T> | Many<T>, value: NoInfer<T>): void

  /**
   * Returns a function, since the list is still being set up: it may be called from `onStart` on. A `one`
   * must be in the plugin's `requires`; a `many` may be empty unless it is there too.
   */
  use<T>(capability: One<T>): () => T
  use<T>(capability: Many<T>): () => readonly T[]
  /** The same for a `one` that the list may lack: it is not in `requires`, and the function may return undefined. */
  find<T>(capability: One<T>): () => T | undefined

  /** Runs before the ports open, in list order; an error stops the boot. */
  onStart(step: () => void | Promise<void>): void
  /** Runs when the ports are open, in list order; an error stops the gateway. */
  onReady(step: (addresses: Addresses) => void | Promise<void>): void
  /**
   * Runs in reverse order when a reload has replaced this list with another: end the work besides requests here.
   * Requests in flight may go on, and need everything else until `onStop`.
   */
  onReplaced(step: () => void | Promise<void>): void
  /** Runs in reverse order when no request is in flight any more, also after a boot that failed half way. */
  onStop(step: () => void | Promise<void>): void

  /**
   * Shares a value with the lists before and after a reload: returns the value that this plugin opened under the
   * same key in the list before, or else opens one. `close`, if given, runs when no list uses the value any more.
   */
  share<T>(key: string, open: () => T, close?: (value: T) => void | Promise<void>): T

  /**
   * 32 secret bytes to sign data that comes back to this plugin. They are the same in all worker processes and after
   * a reload, and differ after a restart.
   */
  keyFor(purpose: string): Buffer

  /** Passes a request to this list as if it had arrived at the main port. */
  readonly dispatch: Dispatch

  /**
   * Opens a connection to this list, as if it had arrived at the main port, for HTTP/1.1. It serves streams, which
   * `dispatch` cannot carry. It may be called from `onStart` on.
   */
  connect(): Duplex
}

/** Passes a request to a list without a socket. */
export type Dispatch = (request: InjectOptions | string) => Promise<LightMyRequestResponse>
