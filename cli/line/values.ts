import { keyOf, type SettingsOf } from '#plugins/presets/settings/setting.js'
import type { Option, OptionGroup, ResolvedOptions } from './option.js'

/** The resolved values of the options of `groups`, by their keys. The groups belong to the parsed command. */
export function valuesOf<const Groups extends readonly OptionGroup[]>(
  groups: Groups,
  resolved: ResolvedOptions,
): SettingsOf<Groups> {
  const options = groups.flatMap((group) => group.options)
  const values = Object.fromEntries(options.map(({ name }) => [keyOf(name), resolved.get(name)?.value]))
  if (!isRead<Groups>(values, options, resolved))
    throw new TypeError('these options belong to another command')
  return values
}

function isRead<Groups extends readonly OptionGroup[]>(
  values: object,
  options: readonly Option[],
  resolved: ResolvedOptions,
): values is SettingsOf<Groups> {
  return options.every(({ name, required, default: fallback }) => {
    const always = required === true || fallback !== undefined
    return keyOf(name) in values && (!always || resolved.has(name))
  })
}
