import type { CommandDefinition } from '../../line/option.js'
import { asJson, general } from '../../line/shared-flags.js'

export const validateCommand = {
  name: 'validate',
  summary: 'Check server.json files by the rules of publishing',
  description:
    'Checks documents of servers by the rules of publishing: the schema in force, and what the official registry asks beyond it. Nothing is sent anywhere. All issues are printed at once, each with its line. The exit code is 1 when a document has errors, and 2 when a file cannot be read; warnings are good.',
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
