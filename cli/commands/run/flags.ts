import type { CommandDefinition } from '../../line/option.js'
import { configFile, general, logFlags, pluginFlag, printPlugins } from '../../line/shared-flags.js'
import { workers } from '../../workers/flags.js'

export const runCommand = {
  name: 'run',
  summary: 'Boot any list of plugins',
  description: 'Boots the list of plugins of a file, in the order of the file.',
  positionals: [],
  groups: general(
    { ...configFile, required: true, help: 'The list of plugins, in YAML or JSON' },
    pluginFlag,
    workers,
    ...logFlags,
    printPlugins,
  ),
  readsFile: true,
  examples: ['sallyport run --config gateway.yaml'],
} as const satisfies CommandDefinition
