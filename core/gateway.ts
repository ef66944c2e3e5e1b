import type { Duplex } from 'node:stream'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Logger } from 'pino'
import type { Many, One } from './capability.js'
import type { Scrubber } from './log/scrubber.js'
import type { Meter } from './meter.js'

/** Where a gateway can be reached, once its doors are open. */
export interface Addresses {
  readonly main?: string
  readonly internal?: string
  /** The main port as callers outside know it, once that is known. */
  readonly public?: string
}

/**
 * What `setup` builds with. It belongs to one entry of the list: what is provided, hooked or declared
 * through it carries that entry's name in every message.
 */
export interface Gateway {
  /** The entry's name in the list. */
  readonly id: string
  /** The path of the scope the entry stands in, empty at the root. */
  readonly scope: string
  /** Bears the entry's name. No token, cookie, query or secret reaches a line of it. */
  readonly log: Logger
  /** Whoever opens a secret adds it, and no line of the log shows it. */
  readonly scrubber: Scrubber
  readonly meter: Meter
  /**
   * The main port, below the scope's path. Every route needs an accepted caller, but one declared with
   * `config: { public: true }`.
   */
  readonly http: FastifyInstance
  /** The main port from its root, behind the root's gate: for what a standard puts at a place of its own. */
  readonly root: FastifyInstance
  /** The internal port. Nobody is asked for credentials there. */
  readonly internal: FastifyInstance

  /** A path from the options, relative to the folder of the configuration. */
  path(path: string): string

  provide<T>(capability: One<T> | Many<T>, value: T): void

  /**
   * Returns a function, since the list is still being set up: it answers from `onStart` on. A `one`
   * must stand in the plugin's `requires`; a `many` may be empty unless it stands there too.
   */
  use<T>(capability: One<T>): () => T
  use<T>(capability: Many<T>): () => readonly T[]

  /** Runs before the doors open, in list order; an error stops the boot. */
  onStart(step: () => void | Promise<void>): void
  /** Runs when the doors are open, in list order; an error stops the gateway. */
  onReady(step: (addresses: Addresses) => void | Promise<void>): void
  /** Runs in reverse order when everything in flight has ended, also after a boot that failed half way. */
  onStop(step: () => void | Promise<void>): void

  /**
   * What outlives an exchange of the list: the value that this plugin opened by the same key in the list before, else
   * a new one. It is closed when no list that asked for it is left.
   */
  keep<T>(key: string, open: () => T, close: (value: T) => void | Promise<void>): T

  /** Hands a request to this list as if it had come in by the main port. */
  readonly dispatch: Dispatch

  /**
   * A connection to this list as if it had come in by the main port: HTTP/1.1 is spoken over it. For what
   * `dispatch` cannot carry, which are streams. It answers from `onStart` on.
   */
  connect(): Duplex
}

/** How an outer end other than a socket reaches the list: through `http`, without a listener. */
export type Dispatch = (request: InjectOptions | string) => Promise<LightMyRequestResponse>
