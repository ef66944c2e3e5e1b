import { configFile } from './config-file.js'
import type { OptionGroup } from './option.js'
import { sharedGroup } from './shared.js'

export const checkGroups = [
  { title: 'General', options: [{ ...configFile, required: true }] },
  sharedGroup,
] as const satisfies readonly OptionGroup[]
