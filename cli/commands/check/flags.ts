import type { CommandDefinition } from '../../line/option.js'
import { configFile, general } from '../../line/shared-flags.js'

export const checkCommand = {
  name: 'check',
  summary: 'Check a configuration file, without starting it',
  description:
    'Reads a file as the gateway would, loads every plugin it names and the packages they need, checks their options and the capabilities they require, and calls setup of plugins that are not built in, in a separate process without write access and network. It opens no port and sends no request. All problems are printed at once, and the exit code is then 2; a valid setting that is probably a mistake, such as a rule that never applies, is a warning.',
  positionals: [],
  groups: general({ ...configFile, required: true }),
  examples: ['sallyport check --config registry.yaml', 'sallyport check --config gateway.yaml'],
} as const satisfies CommandDefinition
