import sade from 'sade'
import type { Command, Option } from './option.js'

/**
 * Lets sade find the command of a canonical command line. On any other it would lose positionals, turn 0123
 * into 123, and answer problems itself; `parse` has told them all by then.
 */
export function dispatch(canonical: readonly string[], commands: readonly Command[]): Command {
  const program = sade('sallyport')
  for (const command of commands) {
    const positionals = command.positionals.map(({ name, required }) =>
      required ? `<${name}>` : `[${name}]`,
    )
    program.command([command.name, ...positionals].join(' '), command.summary).action(() => command)
  }
  const options = commands.flatMap(({ groups }) => groups.flatMap((group) => group.options))
  const { handler } = program.parse(['node', 'sallyport', ...canonical], {
    lazy: true,
    string: namesOf(options.filter(({ type }) => type !== 'boolean')),
    boolean: namesOf(options.filter(({ type }) => type === 'boolean')),
  })
  const found: Command = handler()
  return found
}

function namesOf(options: readonly Option[]): string[] {
  return [...new Set(options.map(({ name }) => name))]
}
