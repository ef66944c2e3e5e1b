/** How the text of a flag, a variable or a file is read. */
export type SettingType =
  | 'boolean'
  | 'string'
  | 'int'
  | 'count'
  | 'port'
  | 'url'
  | 'duration'
  | 'size'
  | 'address'
  | 'list'
  | 'repeatable'
  | 'pair'
  | 'choice'

/**
 * One row of a preset's table: its flag, variable, key in a file, help, completion and documentation follow from it.
 */
export interface Setting {
  /** The flag without its dashes. Its key in a file is the same name in camel case. */
  readonly name: string
  readonly type: SettingType
  /** One sentence, without a full stop. */
  readonly help: string
  /** The plugin and its option: `auth/oidc.jwksUrl`. The plugin's own schema validates the value. */
  readonly to?: string
  /** The setting without which this one has no effect, and so is refused. */
  readonly needs?: string
  /** The default, written as on the command line. With `to` it is the plugin's own default, and only shown. */
  readonly default?: string
  readonly required?: true
  readonly secret?: true
  /**
   * The value's name in the help, where type and name do not tell. `FILE` and `DIR` also make the shell complete
   * paths, alternatives in lower case words.
   */
  readonly placeholder?: string
  /** Further environment variables, in this order after the one named like the flag. */
  readonly env?: readonly string[]
  /** Whether an empty value has a meaning. Other settings refuse it: it comes from an unset shell variable. */
  readonly emptyAllowed?: true
  readonly choices?: readonly string[]
  readonly min?: number
  readonly max?: number
  /** The path in a file, when it is not the flag's name in camel case. */
  readonly path?: readonly string[]
}

export interface SettingGroup {
  readonly title: string
  readonly options: readonly Setting[]
}

type KeyOf<Name> = Name extends `${infer First}-${infer Rest}` ? `${First}${Capitalize<KeyOf<Rest>>}` : Name

/** The key of a setting: `target-uri` is `targetUri`. */
export const keyOf = (name: string): string =>
  name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The flag of a key. */
export const flagOf = (key: string): string =>
  `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

interface ReadAs extends Record<SettingType, unknown> {
  boolean: boolean
  int: number
  count: number | 'auto'
  port: number
  /** Milliseconds. */
  duration: number
  /** Bytes. */
  size: number
  list: readonly string[]
  repeatable: readonly string[]
  pair: readonly (readonly [name: string, value: string])[]
}

type ValueOf<Row> = Row extends { type: 'choice'; choices: readonly (infer Choice)[] }
  ? Choice
  : Row extends { type: infer Type extends keyof ReadAs }
    ? unknown extends ReadAs[Type]
      ? string
      : ReadAs[Type]
    : never

type AlwaysThere =
  | { readonly type: 'boolean' | 'repeatable' | 'pair' }
  | { readonly required: true }
  | { readonly default: string; readonly to?: never }

/** The settings of a table by their keys. */
export type SettingsOf<Groups extends readonly SettingGroup[]> = {
  readonly [Row in Groups[number]['options'][number] as Row extends { readonly path: readonly string[] }
    ? never
    : KeyOf<Row['name']> & string]: Row extends AlwaysThere ? ValueOf<Row> : ValueOf<Row> | undefined
}
