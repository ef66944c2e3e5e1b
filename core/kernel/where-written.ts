import type { Entry, SettingPath } from '../contract/list.js'
import type { Plugin } from '../contract/plugin.js'
import { isJsonObject } from '../toolkit/json-object.js'
import { pathOfText } from '../toolkit/path-text.js'
import { jsonSchemaOf } from './validate-options.js'

function isOption(name: string, { options }: Plugin): boolean {
  const properties = jsonSchemaOf(options)?.['properties']
  return isJsonObject(properties) && Object.hasOwn(properties, name)
}

/** Where a plugin's own word for a place was written: a path in its options, or anything else. */
export function whereOption(
  entry: Entry,
  option: string,
  plugin: Plugin,
  at: SettingPath,
): SettingPath | undefined {
  const path = pathOfText(option)
  if (isOption(String(path[0] ?? ''), plugin)) return whereWritten(entry, path, at)
  // Where no settings were made into options, the plugin's own word says more than the line that names it.
  return option === '' || entry.origin !== undefined ? entry.named : undefined
}

/** The settings that an option of an entry was made of. */
export function whereWritten({ origin }: Entry, path: SettingPath, at: SettingPath): SettingPath {
  const [option = '', ...rest] = path
  const named = origin !== undefined && Object.hasOwn(origin, option) ? origin[option] : undefined
  if (named !== undefined) return [...named, ...rest]
  const all = origin?.['']
  return all === undefined ? [...at, 'with', ...path] : [...all, ...path]
}
