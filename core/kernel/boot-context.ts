import type { Logger } from 'pino'
import type { Scrubber } from '../contract/scrubber.js'
import type { StepLimits } from './lifecycle.js'
import type { Catalogue } from './load.js'
import type { Locate } from './plan.js'
import type { SharedResources } from './shared-resources.js'

/** What a boot needs besides its list. */
export interface BootContext {
  readonly catalogue: Catalogue
  /** Names of packages and relative paths are resolved from here. */
  readonly folder: string
  readonly log: Logger
  /** The scrubber of `log`; plugins add their secrets to it. */
  readonly scrubber?: Scrubber
  /** Where a setting was written; by default its path in the list. */
  readonly locate?: Locate
  readonly limits?: Partial<StepLimits>
  /** Milliseconds that a guard or an authenticator may take for one request. */
  readonly gateDeadline?: number
  /** Milliseconds for a body that a route of the list reads itself. */
  readonly bodyDeadline?: number
  /** Values that the list before this one shares. */
  readonly sharedResources?: SharedResources
  /** 32 random bytes that all processes of one gateway share; by default those of this process alone. */
  readonly key?: Uint8Array
  /** Aborts a boot that is under way. */
  readonly signal?: AbortSignal
}
