import type { SettingGroup } from '#plugins/presets/settings/setting.js'
import type { Option, OptionGroup } from './option.js'

/** Valid with every command, and without one. */
export const helpOptions = [
  { name: 'help', type: 'boolean', short: 'h', flagOnly: true, help: 'Show this help' },
  { name: 'version', type: 'boolean', short: 'v', flagOnly: true, help: 'Show the version' },
] as const satisfies readonly Option[]

export const sharedGroup = {
  title: 'Everywhere',
  options: [
    { name: 'debug', type: 'boolean', help: 'Log at debug level, with stacks of unexpected errors' },
    ...helpOptions,
  ],
} as const satisfies OptionGroup

/** The flags of a command that is no preset. */
export const general = <const Options extends readonly Option[]>(...options: Options) =>
  [{ title: 'General', options }, sharedGroup] as const

/** For the commands that look at a file. */
export const configFile = {
  name: 'config',
  type: 'string',
  placeholder: 'FILE',
  help: 'A file of a preset or of `sallyport run`, in YAML or JSON',
} as const satisfies Option

export const asJson = {
  name: 'json',
  type: 'boolean',
  help: 'Print JSON, for programs',
} as const satisfies Option

/** For the commands that boot a list of plugins. */
export const furtherPlugin = {
  name: 'plugin',
  type: 'repeatable',
  placeholder: 'NAME|FILE',
  help: 'A further plugin without options: a built-in name, a package, or a path such as ./guard.js; `plugins` in the file also gives options and a place',
} as const satisfies Option

export const printPlugins = {
  name: 'print-plugins',
  type: 'boolean',
  help: 'Print the list of plugins that would be booted, secrets as ***, and stop',
} as const satisfies Option

export const LOG_LEVELS = ['off', 'error', 'warn', 'info', 'debug'] as const

/** For the commands that boot a list of plugins. */
export const logFlags = [
  {
    name: 'log-level',
    type: 'choice',
    choices: LOG_LEVELS,
    help: 'The least that is logged; info by default, and debug with --debug',
  },
  {
    name: 'log-format',
    type: 'choice',
    choices: ['json', 'pretty'],
    help: 'How it is logged; pretty on a terminal and json elsewhere by default',
  },
] as const satisfies readonly Option[]

const presetFile: Option = {
  ...configFile,
  help: 'Configuration file, in YAML or JSON: keys are the flags in camel case, and a flag wins',
}

/** The flags of a preset: those of its table, and those of every command that boots a list. */
export function presetGroups(
  [general, ...others]: readonly SettingGroup[],
  own: readonly Option[] = [],
): readonly OptionGroup[] {
  const { title = 'General', options = [] } = general ?? {}
  return [
    { title, options: [presetFile, ...options, furtherPlugin, ...own, ...logFlags, printPlugins] },
    ...others,
    sharedGroup,
  ]
}
