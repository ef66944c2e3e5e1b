import { isDeepStrictEqual } from 'node:util'
import { commands } from '#cli/commands/index.js'
import {
  accumulates,
  type Command,
  type Option,
  type OptionGroup,
  type Positional,
} from '#cli/line/option.js'
import { sharedGroup } from '#cli/line/shared-flags.js'
import { table } from '../markdown.js'

/** A section for each command. A flag that `proxy` and other commands have stands only in the section of `proxy`. */
export function flags(): string {
  const links = commands.map(({ name }) => `[${name}](#sallyport-${anchor(name)})`).join(' · ')
  return [links, `Every command has ${names(sharedGroup.options)}.`, ...commands.map(section)].join('\n\n')
}

function section(command: Command): string {
  const heading = [`## \`sallyport ${command.name}\``, command.description]
  const rows = command.positionals.map(argumentRow)
  if (command.name === 'proxy') return [...heading, ...proxyTables(rows)].join('\n\n')
  const own = optionsOf(command)
  const shared = own.filter((option) => has(proxyFlags(), option))
  const isWorthALink = shared.length >= MIN_SHARED
  rows.push(...own.filter((option) => !(isWorthALink && shared.includes(option))).map(flagRow))
  return [
    ...heading,
    ...(rows.length === 0 ? [] : [table(HEAD, rows)]),
    ...(isWorthALink ? [linkToShared(own, shared)] : []),
  ].join('\n\n')
}

const HEAD = ['flag or argument', 'default', 'meaning']
const MIN_SHARED = 3

/** One table for each group of the flags, so that other commands can link to it. */
function proxyTables(rows: string[][]): string[] {
  const [first, ...others] = proxyGroups()
  return [
    table(HEAD, [...rows, ...(first?.options ?? []).map(flagRow)]),
    ...others.flatMap(({ title, options }) => [`### ${title}`, table(HEAD, options.map(flagRow))]),
  ]
}

/** Names what a command takes over from `proxy`: everything except a few, or whole groups and the flags beside them. */
function linkToShared(own: readonly Option[], shared: readonly Option[]): string {
  const link = '[`sallyport proxy`](#sallyport-proxy)'
  const missing = proxyFlags().filter(({ name }) => !own.some((option) => option.name === name))
  if (missing.length < 5)
    return `Also all flags of ${link}${missing.length === 0 ? '' : ` except ${names(missing)}`}.`
  const groups = proxyGroups().filter(({ options }) => options.every((each) => has(shared, each)))
  const single = shared.filter((option) => !groups.some(({ options }) => has(options, option)))
  const whole = groups.map(({ title }) => `[${title}](#${anchor(title)})`)
  return `Also, described at ${link}: ${[...whole, names(single)].join(', ')}.`
}

const anchor = (title: string): string => title.toLowerCase().replaceAll(' ', '-')

const names = (options: readonly Option[]): string => options.map(({ name }) => `\`--${name}\``).join(', ')

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

const groupsOf = ({ groups }: Command): readonly OptionGroup[] =>
  groups.filter(({ title }) => title !== sharedGroup.title)

const optionsOf = (command: Command): readonly Option[] => groupsOf(command).flatMap(({ options }) => options)

const proxyGroups = (): readonly OptionGroup[] =>
  commands.filter(({ name }) => name === 'proxy').flatMap(groupsOf)

const proxyFlags = (): readonly Option[] => proxyGroups().flatMap(({ options }) => options)

const has = (options: readonly Option[], option: Option): boolean =>
  options.some((each) => isDeepStrictEqual(flagRow(each), flagRow(option)))
