import type { CommandDefinition } from '../../line/option.js'
import { asJson, configFile, general } from '../../line/shared-flags.js'

export const pluginsCommand = {
  name: 'plugins',
  summary: 'List the plugins that a file may name, with their options',
  description:
    'Lists the built-in plugins, and with --config those that a file names, each with its version, API level and options. With a name it prints all details of one plugin.',
  positionals: [{ name: 'NAME', help: 'one plugin, as `use` names it' }],
  groups: general(configFile, asJson),
  examples: [
    'sallyport plugins',
    'sallyport plugins auth/oidc',
    'sallyport plugins --config gateway.yaml --json',
  ],
} as const satisfies CommandDefinition
