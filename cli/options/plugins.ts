import { asJson, configFile } from './config-file.js'
import type { OptionGroup } from './option.js'
import { sharedGroup } from './shared.js'

/** For `plugins` and `schema`: the plugins of a file count beside the built-in ones. */
export const pluginsGroups = [
  { title: 'General', options: [configFile, asJson] },
  sharedGroup,
] as const satisfies readonly OptionGroup[]

export const schemaGroups = [
  { title: 'General', options: [configFile] },
  sharedGroup,
] as const satisfies readonly OptionGroup[]
