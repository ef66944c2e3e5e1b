import { quickstartTable } from '#plugins/presets/quickstart/table.js'
import type { CommandDefinition } from '../../line/option.js'
import { presetGroups } from '../../line/shared-flags.js'

export const quickstartCommand: CommandDefinition = {
  name: 'quickstart',
  summary: 'Try everything at once on this machine',
  description:
    'Starts an identity provider, a sample MCP server, a registry and a proxy on this machine, and prints commands to try on them, with real tokens. It needs nothing else, and leaves nothing behind.',
  positionals: [],
  groups: presetGroups(quickstartTable),
  readsFile: true,
  examples: ['sallyport quickstart', 'sallyport quickstart --port 9000'],
}
