import sade from 'sade'
import type { Command, Option } from './option.js'

/**
 * Calls the `run` of the command of a canonical command line. With any other sade would lose positionals, turn 0123
 * into 123, and print problems itself; `parse` has found them all before.
 */
export function dispatch(
  canonical: readonly string[],
  commands: readonly Command[],
): ReturnType<Command['run']> {
  const program = sade('sallyport')
  for (const command of commands) {
    const positionals = command.positionals.map(({ name, required }) =>
      required ? `<${name}>` : `[${name}]`,
    )
    program.command([command.name, ...positionals].join(' '), command.summary).action(command.run)
  }
  const options = commands.flatMap(({ groups }) => groups.flatMap((group) => group.options))
  const { handler } = program.parse(['node', 'sallyport', ...canonical], {
    lazy: true,
    string: namesOf(options.filter(({ type }) => type !== 'boolean')),
    boolean: namesOf(options.filter(({ type }) => type === 'boolean')),
  })
  const run: ReturnType<Command['run']> = handler()
  return run
}

function namesOf(options: readonly Option[]): string[] {
  return [...new Set(options.map(({ name }) => name))]
}
