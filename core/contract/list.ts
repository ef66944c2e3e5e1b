import type { Plugin } from './plugin.js'

/** A path in the operator's settings: `['auth', 'oauth', 'realm']`. */
export type SettingPath = readonly (string | number)[]

/** One plugin of the list with its options. */
export interface Entry {
  /** A built-in name, a package, a path that starts with `./`, `../` or `/`, or the plugin itself. */
  readonly use: string | Plugin
  readonly with?: unknown
  /** Unique in its scope; by default the plugin's name. */
  readonly id?: string
  /** `false` lets the gateway start without it. Only observers may be left out. */
  readonly required?: boolean
  /**
   * For an entry that a preset made from settings: the name of each option and the setting that it came from. The
   * empty name stands for all other options.
   */
  readonly origin?: Readonly<Record<string, SettingPath>>
  /** The setting that names the plugin, when that is not `use` in the list. */
  readonly named?: SettingPath
  /** Other names that an operator may write for a plugin in that setting, for suggestions. */
  readonly shortNames?: readonly string[]
}

/** A list inside a list: a path, a container and a Fastify context of its own. */
export interface Scope {
  readonly scope: string
  readonly plugins: List
}

export type List = readonly (Entry | Scope)[]

export const isScope = (item: Entry | Scope): item is Scope => 'scope' in item
