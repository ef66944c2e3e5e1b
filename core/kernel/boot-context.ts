import type { Logger } from 'pino'
import type { Scrubber } from '../contract/scrubber.js'
import type { StepLimits } from './lifecycle.js'
import type { Catalogue } from './load.js'
import type { Locate } from './plan.js'
import type { SharedResources } from './shared-resources.js'

/** The context of a boot, besides its list. */
export interface BootContext {
  readonly catalogue: Catalogue
  /** The folder from which names of packages and relative paths are resolved. */
  readonly folder: string
  readonly log: Logger
  /** The scrubber of `log`; plugins add their secrets to it. */
  readonly scrubber?: Scrubber
  /** Returns where a setting was written; by default its path in the list. */
  readonly locate?: Locate
  readonly limits?: Partial<StepLimits>
  /** Milliseconds that a guard or an authenticator may take for one request. */
  readonly gateDeadline?: number
  /** Milliseconds for a body that a route of the list reads itself. */
  readonly bodyDeadline?: number
  /** The values that lists share over reloads. */
  readonly sharedResources?: SharedResources
  /** 32 random bytes that all processes of one gateway share; by default each process makes its own. */
  readonly key?: Uint8Array
  /** Aborts a running boot. */
  readonly signal?: AbortSignal
}
