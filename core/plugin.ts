import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Capability } from './capability.js'
import type { Gateway } from './gateway.js'

/** The level of the contract between kernel and plugins. It rises only when an old plugin could no longer work. */
export const API_LEVEL = 1

/**
 * A part of a gateway. `setup` provides capabilities and declares routes, then returns; it waits for no
 * network. What has to wait goes to `gateway.onStart`, `onReady` or `onStop`.
 */
export interface PluginDefinition<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  readonly name: string
  readonly api: number
  /** One sentence: what it does for the operator. */
  readonly summary?: string
  readonly version?: string
  /** Everything `setup` may provide. Anything else it provides stops the boot. */
  readonly provides?: readonly Capability[]
  /** What must be provided by somebody in the list, before or after this entry. */
  readonly requires?: readonly Capability[]
  /** Why a list with it cannot be in several processes at once: `--workers` is refused with these words. */
  readonly oneProcess?: string
  /** Any Standard Schema. It validates, tells the defaults, and marks secrets with `writeOnly`. */
  readonly options?: Schema
  setup(gateway: Gateway, options: StandardSchemaV1.InferOutput<Schema>): void | Promise<void>
}

/** A plugin as the kernel sees it, whatever its options are. */
export type Plugin = Omit<PluginDefinition, 'setup'> & {
  // A method and not a property: the options of one plugin are not those of another, and only a method's
  // parameters may differ so. The kernel passes what the plugin's own schema returned.
  setup(gateway: Gateway, options: never): void | Promise<void>
}

/** Gives a plugin its types. It checks nothing: the kernel does, when it loads one. */
export function definePlugin<Schema extends StandardSchemaV1>(definition: PluginDefinition<Schema>): Plugin {
  return definition
}
