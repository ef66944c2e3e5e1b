import { exchange, oauth, target, targetCredentials, targetTls } from '#plugins/presets/proxy/table.js'
import type { CommandDefinition, Option } from '../../line/option.js'
import { presetGroups } from '../../line/shared-flags.js'
import { serverName } from '../proxy/flags.js'

const printClientConfig: Option = {
  name: 'print-client-config',
  type: 'boolean',
  flagOnly: true,
  help: 'Print the configuration for common clients, and stop',
}

export const proxyStdioCommand: CommandDefinition = {
  name: 'proxy stdio',
  summary: 'Be an MCP server on standard input and output, in front of a remote one',
  description:
    'For clients that can only start a command. Every message goes to the target and back unchanged, with the credential that the flags give. Only the protocol is written to standard output.',
  positionals: [{ ...serverName, help: 'a name for the server, shown in logs' }],
  groups: presetGroups(
    [
      { title: 'General', options: target },
      { title: 'What the target receives', options: [...targetTls, ...targetCredentials] },
      oauth,
      exchange,
    ],
    [printClientConfig],
  ),
  readsFile: true,
  examples: [
    'sallyport proxy stdio github --remote-auth \\\n  --target-uri https://mcp.example.com/mcp',
    'sallyport proxy stdio github --print-client-config \\\n  --target-uri https://mcp.example.com/mcp',
  ],
}
