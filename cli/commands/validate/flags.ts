import type { CommandDefinition } from '../../line/option.js'
import { asJson, general } from '../../line/shared-flags.js'

export const validateCommand = {
  name: 'validate',
  summary: 'Check server.json files by the rules of publishing',
  description:
    'Checks documents of servers by the rules of publishing: the current schema, and the further rules of the official registry. It sends no request. All issues are printed at once, each with its line. The exit code is 1 when a document has errors, and 2 when a file cannot be read; with warnings alone it is 0.',
  positionals: [
    {
      name: 'FILE',
      help: 'a server.json, a folder with files server.json or with their $schema at any depth, or - for standard input',
      required: true,
      repeats: true,
    },
  ],
  groups: general(asJson),
  examples: ['sallyport validate server.json', 'sallyport validate --json servers/'],
} as const satisfies CommandDefinition
