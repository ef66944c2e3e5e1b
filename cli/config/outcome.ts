import type { Problem } from 'sallyport/problem'
import type { Path } from './path.js'

/** Settings, with what the kernel needs to speak of the places where they were written. */
export interface Located<Settings> {
  readonly settings: Settings
  /** Where relative paths in the settings start. */
  readonly folder: string
  /** Never printed. */
  readonly secrets: ReadonlySet<string>
  readonly locate: (path: Path) => string
}

export type Outcome<Settings> =
  | Located<Settings>
  | {
      readonly problems: readonly Problem[]
      /** What could be read all the same: never booted, only looked through for further problems. */
      readonly readable?: Located<Settings>
    }
