import type { CommandDefinition } from '../../line/option.js'
import { configFile, general } from '../../line/shared-flags.js'

export const authCommand = {
  name: 'auth',
  summary: 'Show, encrypt and delete the logins that the proxy stores',
  description:
    'Shows the logins that are stored for --remote-auth and for targets that required one, or deletes those of one target. With seal it encrypts logins that were stored before there was a key, and shows them: if you do not know a login, somebody else has put it there. A running proxy keeps its logins in memory; auth revokes no token at the issuer.',
  positionals: [
    { name: 'ACTION', help: 'what to do', required: true, choices: ['list', 'seal', 'logout'] },
    { name: 'TARGET', help: 'with logout: the target as the list shows it, or all' },
  ],
  groups: general({
    ...configFile,
    help: 'Use the state store of this file, in YAML or JSON',
  }),
  examples: ['sallyport auth list', 'sallyport auth logout https://mcp.example.com/mcp'],
} as const satisfies CommandDefinition
