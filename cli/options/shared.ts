import type { OptionGroup } from './option.js'

/** Understood with every command and with none. */
export const helpOptions = [
  {
    name: 'help',
    type: 'boolean',
    short: 'h',
    flagOnly: true,
    help: 'Show this help',
  },
  {
    name: 'version',
    type: 'boolean',
    short: 'v',
    flagOnly: true,
    help: 'Show the version',
  },
] as const satisfies OptionGroup['options']

export const sharedGroup = {
  title: 'Everywhere',
  options: [
    {
      name: 'debug',
      type: 'boolean',
      help: 'Log at debug level, with stacks of unexpected errors',
    },
    ...helpOptions,
  ],
} as const satisfies OptionGroup

/** For the commands that boot a list of plugins. */
export const printPlugins = {
  name: 'print-plugins',
  type: 'boolean',
  help: 'Print the list of plugins that would be booted, secrets as ***, and stop',
} as const satisfies OptionGroup['options'][number]
