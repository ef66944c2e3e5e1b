import { asJson } from './config-file.js'
import type { OptionGroup } from './option.js'
import { sharedGroup } from './shared.js'

export const pluginKinds = [
  'guard',
  'authenticator',
  'credential',
  'headers',
  'secrets',
  'source',
  'state-store',
  'registrar',
  'audit',
  'telemetry',
  'health',
] as const

export type PluginKind = (typeof pluginKinds)[number]

export const newPluginGroups = [
  {
    title: 'General',
    options: [
      {
        name: 'kind',
        type: 'choice',
        choices: pluginKinds,
        placeholder: 'KIND',
        default: 'guard',
        help: 'What the plugin is to be',
      },
    ],
  },
  sharedGroup,
] as const satisfies readonly OptionGroup[]

export const verifyGroups = [
  {
    title: 'General',
    options: [
      {
        name: 'with',
        type: 'string',
        placeholder: 'FILE',
        help: 'Options to set the plugin up with, in YAML or JSON; made up from its schema unless given',
      },
      asJson,
    ],
  },
  sharedGroup,
] as const satisfies readonly OptionGroup[]
