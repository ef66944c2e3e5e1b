import type { Entry, SettingPath } from '../contract/list.js'
import type { Plugin } from '../contract/plugin.js'
import { isJsonObject } from '../toolkit/json-object.js'
import { jsonSchemaOf } from './validate-options.js'

export function isOption(name: string, { options }: Plugin): boolean {
  const properties = jsonSchemaOf(options)?.['properties']
  return isJsonObject(properties) && Object.hasOwn(properties, name)
}

/** The settings that an option of an entry was made of. */
export function whereWritten({ origin }: Entry, path: SettingPath, at: SettingPath): SettingPath {
  const [option = '', ...rest] = path
  const named = origin !== undefined && Object.hasOwn(origin, option) ? origin[option] : undefined
  if (named !== undefined) return [...named, ...rest]
  const all = origin?.['']
  return all === undefined ? [...at, 'with', ...path] : [...all, ...path]
}
