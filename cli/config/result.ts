import { resolve } from 'node:path'
import type { List, Problem, SettingPath } from 'sallyport'
import { pathText } from '#core/toolkit/path-text.js'

/** Settings, with what messages need to name the place where each was written. */
export interface Located<Settings> {
  readonly settings: Settings
  /** Relative paths in the settings are relative to it. */
  readonly folder: string
  /** Never printed. */
  readonly secrets: ReadonlySet<string>
  readonly locate: (path: SettingPath) => string
}

/** Settings that nobody wrote. */
export const locatedHere = <Settings>(settings: Settings): Located<Settings> => ({
  settings,
  folder: resolve('.'),
  secrets: new Set(),
  locate: pathText,
})

export type Result<Settings> =
  | Located<Settings>
  | {
      readonly problems: readonly Problem[]
      /** The entries that somebody wrote, as far as they can be read: each is checked by itself, and none booted. */
      readonly entries?: Located<List>
    }

/** The same with other settings, such as the list that they become. */
export function mapped<From, To>(result: Result<From>, change: (settings: From) => To): Result<To> {
  return 'problems' in result ? result : { ...result, settings: change(result.settings) }
}
