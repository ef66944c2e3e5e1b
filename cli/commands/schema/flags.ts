import type { CommandDefinition } from '../../line/option.js'
import { configFile, general } from '../../line/shared-flags.js'

export const schemaCommand = {
  name: 'schema',
  summary: "Print the editor's JSON Schema of a configuration file",
  description:
    'Prints a JSON Schema (2020-12) with the options of every built-in plugin, and with --config of the plugins that the file names. Editors that know YAML take it from a comment in the first line: # yaml-language-server: $schema=registry.schema.json',
  positionals: [
    {
      name: 'KIND',
      help: 'the command that reads the file',
      required: true,
      choices: ['registry', 'proxy', 'proxy-tunnel', 'run'],
    },
  ],
  groups: general(configFile),
  examples: [
    'sallyport schema registry > registry.schema.json',
    'sallyport schema proxy > proxy.schema.json',
    'sallyport schema run --config gateway.yaml > gateway.schema.json',
  ],
} as const satisfies CommandDefinition
