import type { CommandDefinition } from '../../line/option.js'
import { configFile, general } from '../../line/shared-flags.js'

export const migrateCommand = {
  name: 'migrate',
  summary: 'Update the database tables of a file to this version',
  description:
    'Calls every plugin of a file that has a database to create its tables, or to update them to this version, and prints what each plugin did. A second run does nothing. Run it before a new version starts: gateways never change tables by themselves, unless the file says so, and older gateways go on meanwhile. The exit code is 1 when a database does not respond within 30 s or a step fails.',
  positionals: [],
  groups: general({ ...configFile, required: true }),
  examples: ['sallyport migrate --config registry.yaml'],
} as const satisfies CommandDefinition
