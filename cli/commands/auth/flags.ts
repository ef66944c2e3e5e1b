import type { CommandDefinition } from '../../line/option.js'
import { configFile, general } from '../../line/shared-flags.js'

export const authCommand = {
  name: 'auth',
  summary: 'Show, encrypt and delete the logins that the proxy stores',
  description:
    'Shows the logins that are stored for --remote-auth and for targets that asked for one, or deletes those of one target. With seal it encrypts the ones that were stored before there was a key, and shows them: a login that you do not know was put there by somebody else. A running proxy keeps what it has in memory; tokens are not revoked at the issuer.',
  positionals: [
    { name: 'ACTION', help: 'what to do', required: true, choices: ['list', 'seal', 'logout'] },
    { name: 'TARGET', help: 'with logout: the target as the list shows it, or all' },
  ],
  groups: general({
    ...configFile,
    help: 'Show and delete what the state store of this file keeps, in YAML or JSON',
  }),
  examples: ['sallyport auth list', 'sallyport auth logout https://mcp.example.com/mcp'],
} as const satisfies CommandDefinition
