import { registryTable } from '#plugins/presets/registry/table.js'
import type { CommandDefinition } from '../../line/option.js'
import { presetGroups } from '../../line/shared-flags.js'
import { workers } from '../../workers/flags.js'

export const registryCommand: CommandDefinition = {
  name: 'registry',
  summary: 'Serve a registry of MCP servers, to holders of a valid token',
  description:
    'Serves the MCP registry API. Callers need a token of one of the configured identity providers, unless the mode is anonymous.',
  positionals: [],
  groups: presetGroups(registryTable, [workers]),
  readsFile: true,
  examples: ['sallyport registry --config registry.yaml', 'sallyport registry --auth-mode anonymous'],
}
