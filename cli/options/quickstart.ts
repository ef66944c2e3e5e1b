import type { OptionGroup } from './option.js'
import { printPlugins, sharedGroup } from './shared.js'

export const quickstartGroups = [
  {
    title: 'General',
    options: [
      {
        name: 'port',
        type: 'port',
        placeholder: 'PORT',
        help: 'Port of the gateway on 127.0.0.1; 8080, or a free one when that is taken, unless given',
      },
      printPlugins,
    ],
  },
  sharedGroup,
] as const satisfies readonly OptionGroup[]
