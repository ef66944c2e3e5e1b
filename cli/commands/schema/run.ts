import { filePresets } from '../../config/file-presets.js'
import { hidden } from '../../config/hidden.js'
import { knownPlugins } from '../../config/known-plugins.js'
import type { Io } from '../../io.js'
import type { Invocation } from '../../line/option.js'
import { valuesOf } from '../../line/values.js'
import { exitCode, printProblems } from '../../terminal.js'
import { presetSchema } from '../../tools/schema/preset-schema.js'
import { runSchema } from '../../tools/schema/run-schema.js'
import { schemaCommand } from './flags.js'

/** Prints the JSON Schema with which an editor completes and checks a configuration file. */
export async function schema(
  { options, environment, positionals: [kind] }: Invocation,
  io: Io,
): Promise<number> {
  const { config } = valuesOf(schemaCommand.groups, options)
  const known = await knownPlugins(config, environment)
  if ('problems' in known) return printProblems(known.problems, io)
  const preset = filePresets().find((each) => each.kind === kind)
  const made = preset === undefined ? runSchema(known.plugins) : presetSchema(preset, known.plugins)
  io.stdout.write(`${JSON.stringify(hidden.value(made), undefined, 2)}\n`)
  return exitCode.ok
}
