import type { CommandDefinition } from '../../line/option.js'
import { general } from '../../line/shared-flags.js'

/** The folders of `examples/plugins`; listed here, since `--help` reads no folder. */
export const pluginKinds = [
  'guard',
  'authenticator',
  'policy',
  'credential',
  'forwarder',
  'headers',
  'secrets',
  'source',
  'state-store',
  'registrar',
  'login',
  'audit',
  'telemetry',
  'health',
] as const

export type PluginKind = (typeof pluginKinds)[number]

export const pluginNewCommand = {
  name: 'plugin new',
  summary: 'Write a plugin that works, with its test, into a folder of its own',
  description:
    'Writes a plugin in TypeScript with its test, its package.json and a README into a new folder below this one.',
  positionals: [{ name: 'NAME', help: 'the name of the plugin, its folder and its package', required: true }],
  groups: general({
    name: 'kind',
    type: 'choice',
    choices: pluginKinds,
    placeholder: 'KIND',
    default: 'guard',
    help: 'Kind of the plugin',
  }),
  examples: ['sallyport plugin new my-guard', 'sallyport plugin new api-keys --kind authenticator'],
} as const satisfies CommandDefinition
