import type { Logger } from 'pino'
import type { Keepsakes } from './keepsakes.js'
import type { StepLimits } from './lifecycle.js'
import type { Catalogue } from './load.js'
import type { Scrubber } from './log/scrubber.js'
import type { Locate } from './plan.js'

/** What a boot needs to know beside its list. */
export interface BootContext {
  readonly catalogue: Catalogue
  /** Names of packages and relative paths are looked for from here. */
  readonly folder: string
  readonly log: Logger
  /** The one that the log was made with; plugins add their secrets to it. */
  readonly scrubber?: Scrubber
  /** Names the place of a setting; by default its path in the canonical list. */
  readonly locate?: Locate
  readonly limits?: Partial<StepLimits>
  /** Milliseconds that a guard or an authenticator may take for one request. */
  readonly gateDeadline?: number
  /** Milliseconds for a body that a route of the list reads itself. */
  readonly bodyDeadline?: number
  /** What the list before may have left to this one. */
  readonly keepsakes?: Keepsakes
  /** Ends a boot that is under way. */
  readonly signal?: AbortSignal
}
