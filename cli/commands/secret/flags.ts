import type { CommandDefinition } from '../../line/option.js'
import { configFile, general } from '../../line/shared-flags.js'

export const secretCommand = {
  name: 'secret',
  summary: "Keep secrets in the operating system's keyring, or in an encrypted file",
  description:
    'Stores the values that --remote-forward-headers-secret names. A value comes from standard input or a prompt, never from the command line.',
  positionals: [
    { name: 'ACTION', help: 'what to do', required: true, choices: ['set', 'get', 'list', 'rm'] },
    { name: 'NAME', help: 'the name of the secret; not with list' },
  ],
  groups: general(
    {
      ...configFile,
      help: 'Use the secret stores of this file, of a preset or of `sallyport run`, in YAML or JSON',
    },
    {
      name: 'store',
      type: 'choice',
      choices: ['auto', 'keyring', 'file'],
      placeholder: 'STORE',
      default: 'auto',
      help: "Where secrets are stored: the operating system's keyring, or an encrypted file; auto takes the file only without a keyring",
    },
    {
      name: 'passphrase-file',
      type: 'string',
      placeholder: 'FILE',
      help: 'File that holds the passphrase of the encrypted file; otherwise SALLYPORT_SECRETS_PASSPHRASE, otherwise a prompt',
    },
  ),
  examples: [
    'sallyport secret set github-token < token.txt',
    'sallyport secret list',
    'sallyport secret set github-token --config gateway.yaml < token.txt',
    'sallyport proxy github --target-uri https://mcp.example.com/mcp \\\n  --remote-forward-headers-secret X-Api-Key=github-token',
  ],
} as const satisfies CommandDefinition
