import { configFile } from './config-file.js'
import type { OptionGroup } from './option.js'
import { sharedGroup } from './shared.js'

export const explainGroups = [
  {
    title: 'General',
    options: [
      { ...configFile, required: true },
      {
        name: 'token-file',
        type: 'string',
        placeholder: 'FILE',
        help: 'File that holds the token, instead of standard input',
      },
    ],
  },
  sharedGroup,
] as const satisfies readonly OptionGroup[]
