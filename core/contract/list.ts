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
   * Where the options were written, for an entry that a preset made of settings: the option's name and
   * the setting that it came from. The empty name is for all other options.
   */
  readonly origin?: Readonly<Record<string, SettingPath>>
  /** Where the plugin was named, when that is not `use` in the list. */
  readonly named?: SettingPath
  /** Other names that a person may write for a plugin there, for suggestions. */
  readonly shortNames?: readonly string[]
}

/** A list inside a list: a path, a container and a Fastify context of its own. */
export interface Scope {
  readonly scope: string
  readonly plugins: List
}

export type List = readonly (Entry | Scope)[]

export const isScope = (item: Entry | Scope): item is Scope => 'scope' in item
