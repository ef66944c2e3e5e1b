import { knownPlugins } from '../config/known-plugins.js'
import type { Invocation } from '../options/option.js'
import { schemaGroups } from '../options/plugins.js'
import { valuesOf } from '../options/values.js'
import { registrySchema } from '../schema/registry-schema.js'
import { runSchema } from '../schema/run-schema.js'
import { exitCode, tell } from '../terminal.js'

/** Prints the JSON Schema by which an editor completes and checks a configuration file. */
export async function schema({ given, positionals: [kind] }: Invocation): Promise<number> {
  const { config } = valuesOf(schemaGroups, given)
  const known = await knownPlugins(config)
  if ('problems' in known) return tell(known.problems)
  const made = kind === 'registry' ? registrySchema(known.plugins) : runSchema(known.plugins)
  process.stdout.write(`${JSON.stringify(made, undefined, 2)}\n`)
  return exitCode.asked
}
