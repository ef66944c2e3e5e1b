import { commands } from '#cli/commands/index.js'
import { accumulates, type Command, type Option, type Positional } from '#cli/line/option.js'
import { sharedGroup } from '#cli/line/shared-flags.js'
import { table } from '../markdown.js'

/** The flags of every command, then a part for each; one that takes what the proxy takes names that and what it adds. */
export function flags(): string {
  const everywhere = sharedGroup.options.map((option) => `\`--${option.name}\``).join(', ')
  return [`Every command has ${everywhere}.`, ...commands.map(part)].join('\n\n')
}

function part(command: Command): string {
  const ofProxy = commands.filter(({ name }) => name === 'proxy').flatMap(optionsOf)
  const all = optionsOf(command)
  const added = all.filter(
    ({ name, help }) => !ofProxy.some((option) => option.name === name && option.help === help),
  )
  const missing = ofProxy.filter(({ name }) => !all.some((option) => option.name === name))
  const extendsProxy = command.name !== 'proxy' && all.length - added.length > 5 && missing.length < 5
  const but = missing.map(({ name }) => `\`--${name}\``).join(', ')
  const rows = [
    ...command.positionals.map(argumentRow),
    ...(extendsProxy ? added : all).map((option) => flagRow(option)),
  ]
  const inherited = `It has the flags of [\`sallyport proxy\`](#sallyport-proxy)${but === '' ? '' : ` except ${but}`}, and:`
  return [
    `### \`sallyport ${command.name}\``,
    command.description,
    ...(extendsProxy ? [inherited] : []),
    ...(rows.length === 0 ? [] : [table(['flag or argument', 'default', 'meaning'], rows)]),
  ].join('\n\n')
}

const argumentRow = ({ name, help, required, repeats, choices }: Positional): string[] => [
  `\`${name}${repeats === true ? '...' : ''}\`${required === true ? ' (required)' : ''}`,
  '',
  help + oneOf(choices),
]

const flagRow = (option: Option): string[] => [
  `\`--${option.name}\`${option.required === true ? ' (required)' : ''}`,
  option.default === undefined ? '' : `\`${option.default}\``,
  `${option.help}${oneOf(option.choices)}${accumulates(option) ? '; may be repeated' : ''}`,
]

const oneOf = (choices: readonly string[] | undefined): string =>
  choices === undefined ? '' : ` (one of ${choices.map((choice) => `\`${choice}\``).join(', ')})`

const optionsOf = ({ groups }: Command): readonly Option[] =>
  groups.filter(({ title }) => title !== sharedGroup.title).flatMap(({ options: own }) => own)
