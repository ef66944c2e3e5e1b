import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Capability } from './capability.js'
import type { EntryFacts, Examination } from './examination.js'
import type { Gateway } from './gateway.js'
import type { Problem } from './problem.js'

/** The version of the contract between kernel and plugins. It rises only when an old plugin could no longer work. */
export const API_LEVEL = 1

/**
 * A part of a gateway. `setup` provides capabilities and declares routes, then returns; it does not wait for the
 * network. Work that has to wait goes to `gateway.onStart`, `onReady` or `onStop`.
 */
export interface PluginDefinition<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  readonly name: string
  readonly api: number
  /** One sentence: what it does for the operator. */
  readonly summary?: string
  readonly version?: string
  /**
   * Everything that `setup` provides before it ends. A missing capability stops the boot, since a missing policy
   * would let every request pass; so does a capability that is not named here.
   */
  readonly provides?: readonly Capability[]
  /** The capabilities of `provides` that `setup` does not provide with these options. It opens nothing. */
  omits?(options: StandardSchemaV1.InferOutput<Schema>): readonly Capability[]
  /** Capabilities that some entry of the list must provide, before or after this one. */
  readonly requires?: readonly Capability[]
  /**
   * Why a list with this plugin cannot run in several processes: the program refuses `--workers` with this message.
   * With `requiring`, it refuses only a list in which some entry requires that capability.
   */
  readonly oneProcess?: string | { readonly requiring: Capability; readonly reason: string }
  /** It writes a protocol to standard output: the program prints nothing else there. */
  readonly stdout?: 'protocol'
  /** Any Standard Schema. It validates, has the defaults, and marks secrets with `writeOnly`. */
  readonly options?: Schema
  setup(gateway: Gateway, options: StandardSchemaV1.InferOutput<Schema>): void | Promise<void>
  /**
   * Checks what the entry needs from outside, without booting it, and reports its findings, for `sallyport doctor`.
   * It must change nothing outside, and has a minute. Import in its body the modules that only it needs, so that a
   * start does not load them. Without `examine`, doctor checks whether the option `url` can be reached.
   */
  examine?(examination: Examination, options: StandardSchemaV1.InferOutput<Schema>): void | Promise<void>
  /**
   * Brings the data that the entry stores outside to the level of this version, for `sallyport migrate`. Returns a
   * line for each step; no lines when there was nothing to do. A start never does this by itself, unless the options
   * say so.
   */
  migrate?(
    context: Migration,
    options: StandardSchemaV1.InferOutput<Schema>,
  ): readonly string[] | Promise<readonly string[]>
  /** Facts about this entry for the `examine` of other entries. It opens nothing, and waits for nothing. */
  facts?(context: Pick<Examination, 'path'>, options: StandardSchemaV1.InferOutput<Schema>): EntryFacts
  /**
   * Finds options that are valid, but probably not what the operator meant, such as a rule that never applies, for
   * `sallyport check`. The `place` of each problem is a path in the options. It opens nothing.
   */
  warnings?(options: StandardSchemaV1.InferOutput<Schema>): readonly Problem[]
  /**
   * Imports the optional packages that it needs with these options, and nothing else, for `sallyport check`. It
   * throws a `ConfigError` that says how to install what is missing.
   */
  importPackages?(options: StandardSchemaV1.InferOutput<Schema>): Promise<unknown>
}

/** The context in which `migrate` of a plugin runs. */
export interface Migration extends Pick<Examination, 'path'> {
  /** Aborted when the user interrupts the command, and when the migration takes too long. */
  readonly signal: AbortSignal
}

/** A plugin as the kernel sees it, whatever its options are. */
export type Plugin = Omit<
  PluginDefinition,
  'setup' | 'omits' | 'examine' | 'migrate' | 'facts' | 'warnings' | 'importPackages'
> & {
  // Methods and not properties: plugins have different options, and TypeScript compares only the parameters of
  // methods bivariantly. They get what the plugin's own schema returned.
  setup(gateway: Gateway, options: never): void | Promise<void>
  omits?(options: never): readonly Capability[]
  examine?(examination: Examination, options: never): void | Promise<void>
  migrate?(context: Migration, options: never): readonly string[] | Promise<readonly string[]>
  facts?(context: Pick<Examination, 'path'>, options: never): EntryFacts
  warnings?(options: never): readonly Problem[]
  importPackages?(options: never): Promise<unknown>
}

/** Gives a plugin its types. It checks nothing: the kernel checks a plugin when it loads it. */
export function definePlugin<Schema extends StandardSchemaV1>(definition: PluginDefinition<Schema>): Plugin {
  return definition
}
