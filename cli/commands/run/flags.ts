import type { CommandDefinition } from '../../line/option.js'
import { configFile, furtherPlugin, general, logFlags, printPlugins } from '../../line/shared-flags.js'
import { workers } from '../../workers/flags.js'

export const runCommand = {
  name: 'run',
  summary: 'Boot any list of plugins',
  description: 'Boots the list of plugins that a file holds, in the order in which they are written.',
  positionals: [],
  groups: general(
    { ...configFile, required: true, help: 'The list of plugins, in YAML or JSON' },
    furtherPlugin,
    workers,
    ...logFlags,
    printPlugins,
  ),
  readsFile: true,
  examples: ['sallyport run --config gateway.yaml'],
} as const satisfies CommandDefinition
