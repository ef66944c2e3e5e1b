import type { Entry } from 'sallyport'
import { keyOf, type SettingGroup } from './setting.js'

type Settings = Readonly<Record<string, unknown>>

/** Additional options of an entry, made of several settings. */
export interface Further {
  /** Undefined options are left out: a key with the value undefined is not absent for a schema. */
  readonly with?: Settings
  /** The key of the setting behind each such option, for messages. */
  readonly from?: Readonly<Record<string, string>>
}

/** Makes entries from settings: each row names the plugin option that its setting becomes. */
export class EntryMaker {
  private readonly rows: readonly { readonly key: string; readonly use: string; readonly option: string }[]

  constructor(groups: readonly SettingGroup[]) {
    this.rows = groups.flatMap(({ options }) =>
      options.flatMap(({ name, path, to }) => {
        const [use, option] = to?.split('.') ?? []
        return use === undefined || option === undefined
          ? []
          : [{ key: path?.[0] ?? keyOf(name), use, option }]
      }),
    )
  }

  /** The options that the settings give to a plugin. Of a secret and its file, the value wins. */
  optionsOf(use: string, settings: Settings): Settings {
    const options = this.of(use).map(({ key, option }): readonly [string, unknown] => {
      const twin = key.endsWith('File') ? settings[key.replace(/File$/, '')] : undefined
      return [option, twin === undefined ? settings[key] : undefined]
    })
    return defined(Object.fromEntries(options))
  }

  entry(use: string, settings: Settings, { with: more = {}, from = {} }: Further = {}): Entry {
    const options = { ...this.optionsOf(use, settings), ...defined(more) }
    return { use, with: options, origin: this.origin(use, from) }
  }

  /** The place of each option of a plugin in the settings. */
  origin(use: string, from: Readonly<Record<string, string>> = {}): NonNullable<Entry['origin']> {
    const own = this.of(use).map(({ key, option }) => [option, [key]])
    const others = Object.entries(from).map(([option, key]) => [option, [key]])
    return Object.fromEntries([...own, ...others])
  }

  private of(use: string) {
    return this.rows.filter((row) => row.use === use)
  }
}

/** A span of time as a plugin's option. */
export const spanOf = (milliseconds: number | undefined): string | undefined =>
  milliseconds === undefined ? undefined : `${milliseconds}ms`

/** Without the fields that are undefined. */
export const defined = (fields: Settings): Settings =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
