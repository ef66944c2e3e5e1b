import type { CommandDefinition } from '../../line/option.js'
import { configFile, general } from '../../line/shared-flags.js'

export const checkCommand = {
  name: 'check',
  summary: 'Check a configuration file, without starting it',
  description:
    'Reads a file as the gateway would, loads every plugin it names and the packages they need, checks their options and what they require of each other, and calls setup of those that are not built in, in a process of its own that can write no file and has no network. No port is opened and no request is made. All problems are printed at once, and the exit code is then 2; what is valid but probably not meant, such as a rule that never applies, is a warning.',
  positionals: [],
  groups: general({ ...configFile, required: true }),
  examples: ['sallyport check --config registry.yaml', 'sallyport check --config gateway.yaml'],
} as const satisfies CommandDefinition
