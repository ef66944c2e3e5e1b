import type { CommandDefinition } from '../../line/option.js'
import { configFile, general } from '../../line/shared-flags.js'

export const explainCommand = {
  name: 'explain',
  summary: 'Explain why a token is accepted or refused',
  description:
    'Checks a token against the providers of a configuration file, as the gateway would, and prints what each of them checked. The token comes from standard input or a file, since other users of this machine can see a command line.',
  positionals: [],
  groups: general(
    { ...configFile, required: true },
    {
      name: 'token-file',
      type: 'string',
      placeholder: 'FILE',
      help: 'File that holds the token, instead of standard input',
    },
  ),
  examples: [
    'sallyport explain --config registry.yaml < token',
    'sallyport explain --config gateway.yaml --token-file ./token',
  ],
} as const satisfies CommandDefinition
