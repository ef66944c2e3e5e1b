import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Capability } from './capability.js'
import type { EntryFacts, Examination } from './examination.js'
import type { Gateway } from './gateway.js'
import type { Problem } from './problem.js'

/** The version of the contract between kernel and plugins. It rises only when an old plugin could no longer work. */
export const API_LEVEL = 1

/**
 * A part of a gateway. `setup` provides capabilities and declares routes, then returns; it does not wait for the
 * network. What has to wait goes to `gateway.onStart`, `onReady` or `onStop`.
 */
export interface PluginDefinition<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  readonly name: string
  readonly api: number
  /** One sentence: what it does for the operator. */
  readonly summary?: string
  readonly version?: string
  /**
   * Everything that `setup` provides before it ends. What is missing then stops the boot, since a policy that is not there
   * would let everything pass; so does providing anything else.
   */
  readonly provides?: readonly Capability[]
  /** Those of `provides` that `setup` does not provide with these options. It opens nothing. */
  omits?(options: StandardSchemaV1.InferOutput<Schema>): readonly Capability[]
  /** What some entry of the list must provide, before or after this one. */
  readonly requires?: readonly Capability[]
  /**
   * Why a list with it cannot run in several processes: the message with which `--workers` is refused. With `requiring`, only
   * a list in which some entry requires that capability is.
   */
  readonly oneProcess?: string | { readonly requiring: Capability; readonly reason: string }
  /** It writes a protocol to standard output: the program prints nothing else there. */
  readonly stdout?: 'protocol'
  /** Any Standard Schema. It validates, has the defaults, and marks secrets with `writeOnly`. */
  readonly options?: Schema
  setup(gateway: Gateway, options: StandardSchemaV1.InferOutput<Schema>): void | Promise<void>
  /**
   * What `sallyport doctor` runs for an entry of the list: it checks what the entry needs from outside, without booting
   * it, and reports its findings. It must change nothing there, and has a minute. Import what only it needs in its body,
   * so that a start does not load it. Without it, doctor checks whether the option `url` can be reached.
   */
  examine?(examination: Examination, options: StandardSchemaV1.InferOutput<Schema>): void | Promise<void>
  /**
   * What `sallyport migrate` runs for an entry: it brings what the entry stores outside to the level of this version, and
   * returns what it did, a line for each step; nothing when there was nothing to do. A start never does this by itself,
   * unless the options say so.
   */
  migrate?(
    place: Migration,
    options: StandardSchemaV1.InferOutput<Schema>,
  ): readonly string[] | Promise<readonly string[]>
  /** What other entries' `examine` may use of this one. It opens nothing, and waits for nothing. */
  facts?(place: Pick<Examination, 'path'>, options: StandardSchemaV1.InferOutput<Schema>): EntryFacts
  /**
   * What `sallyport check` says of options that are valid, but probably not what was meant, such as a rule that never
   * applies. The place of each problem is a path in the options. It opens nothing.
   */
  warnings?(options: StandardSchemaV1.InferOutput<Schema>): readonly Problem[]
  /**
   * Imports the optional packages that it needs with these options, and nothing else, for `sallyport check`. It throws a
   * `ConfigError` that says how to install what is missing.
   */
  importPackages?(options: StandardSchemaV1.InferOutput<Schema>): Promise<unknown>
}

/** What `migrate` of a plugin gets. */
export interface Migration extends Pick<Examination, 'path'> {
  /** Aborted when the user has had enough, and when it has taken too long. */
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
  migrate?(place: Migration, options: never): readonly string[] | Promise<readonly string[]>
  facts?(place: Pick<Examination, 'path'>, options: never): EntryFacts
  warnings?(options: never): readonly Problem[]
  importPackages?(options: never): Promise<unknown>
}

/** Gives a plugin its types. It checks nothing: the kernel does, when it loads one. */
export function definePlugin<Schema extends StandardSchemaV1>(definition: PluginDefinition<Schema>): Plugin {
  return definition
}
