import { resolve } from 'node:path'
import type { List, Problem, SettingPath } from 'sallyport'
import { pathText } from '#core/toolkit/path-text.js'

/** Settings, and the function that gives messages the place of each setting. */
export interface Located<Settings> {
  readonly settings: Settings
  /** The folder to which relative paths in the settings are relative. */
  readonly folder: string
  /** Never printed. */
  readonly secrets: ReadonlySet<string>
  readonly locate: (path: SettingPath) => string
}

/** Settings that come from no file and no flag. */
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
      /** The readable entries of the file: each is checked alone, and none is booted. */
      readonly entries?: Located<List>
    }

/** The same result with changed settings, such as the list that they become. */
export function mapped<From, To>(result: Result<From>, change: (settings: From) => To): Result<To> {
  return 'problems' in result ? result : { ...result, settings: change(result.settings) }
}
