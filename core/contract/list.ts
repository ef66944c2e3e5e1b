import type { Plugin } from './plugin.js'

/** A path in the operator's settings: `['auth', 'oauth', 'realm']`. */
export type SettingPath = readonly (string | number)[]

/** One plugin of the list with its options. */
export interface Entry {
  /** A built-in name, a package, a path that starts with `./`, `../` or `/`, or the plugin itself. */
  readonly use: string | Plugin
  readonly with?: unknown
  /** Told apart from other entries by this; the plugin's own name when unset. */
  readonly id?: string
  /** `false` lets the gateway start without it. Only observers may be left out. */
  readonly required?: boolean
  /**
   * Where the options were written, when somebody else made this entry out of settings: the option's name and
   * the setting it came from. The empty name stands for all options that are not named.
   */
  readonly origin?: Readonly<Record<string, SettingPath>>
  /** Where the plugin was named, when that is not `use` at its place in the list. */
  readonly named?: SettingPath
}

/** A list inside a list: a path, a container and a Fastify context of its own. */
export interface Scope {
  readonly scope: string
  readonly plugins: List
}

export type List = readonly (Entry | Scope)[]

export const isScope = (item: Entry | Scope): item is Scope => 'scope' in item
