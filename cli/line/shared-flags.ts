import type { SettingGroup } from '#plugins/presets/settings/setting.js'
import type { Option, OptionGroup } from './option.js'

/** For every command, and for a command line without a command. */
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

/** The groups of a command that is no preset. */
export const general = <const Options extends readonly Option[]>(...options: Options) =>
  [{ title: 'General', options }, sharedGroup] as const

/** For the commands that read a file. */
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
export const pluginFlag = {
  name: 'plugin',
  type: 'repeatable',
  placeholder: 'NAME|FILE',
  help: 'Add a plugin without options: a built-in name, a package, or a path such as ./guard.js; `plugins` in the file also sets options and position',
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
    help: 'The lowest level that is logged; info by default, and debug with --debug',
  },
  {
    name: 'log-format',
    type: 'choice',
    choices: ['json', 'pretty'],
    help: 'The format of the log; by default pretty on a terminal, and json elsewhere',
  },
] as const satisfies readonly Option[]

const presetFile: Option = {
  ...configFile,
  help: 'Configuration file, in YAML or JSON: keys are the flags in camel case, and a flag wins',
}

/** The flags of a preset: the flags of its table, and those of every command that boots a list. */
export function presetGroups(
  [general, ...others]: readonly SettingGroup[],
  own: readonly Option[] = [],
): readonly OptionGroup[] {
  const { title = 'General', options = [] } = general ?? {}
  return [
    { title, options: [presetFile, ...options, pluginFlag, ...own, ...logFlags, printPlugins] },
    ...others,
    sharedGroup,
  ]
}
