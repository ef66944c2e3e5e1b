import type { OptionGroup } from './option.js'
import { printPlugins, sharedGroup } from './shared.js'
import { workers } from './workers.js'

export const runGroups = [
  {
    title: 'General',
    options: [
      {
        name: 'config',
        type: 'string',
        placeholder: 'FILE',
        required: true,
        help: 'The list of plugins, in YAML or JSON',
      },
      workers,
      printPlugins,
    ],
  },
  sharedGroup,
] as const satisfies readonly OptionGroup[]
