import type { Problem } from 'sallyport/problem'
import { unknownName } from 'sallyport/problem'
import type { Environment } from './environment.js'
import { settle } from './given.js'
import type { Command, Given, Invocation, Option, Positional } from './option.js'
import type { Occurrence } from './words.js'
import { splitWords, unknownFlag } from './words.js'

/** What a command line asks for. An invocation is there only when there are no problems. */
export interface Parsed {
  /** The command that the words name, as far as they name one. */
  readonly command?: Command
  readonly asksFor?: 'help' | 'version'
  readonly invocation?: Invocation
  /** The same command line in one fixed form: command words, `--flag=value` each, `--`, positionals. */
  readonly canonical: readonly string[]
  readonly problems: readonly Problem[]
}

/** Reads the command line and the environment against the table, and finds all that is wrong with them. */
export function parse(
  argv: readonly string[],
  environment: Environment,
  commands: readonly Command[],
  shared: readonly Option[],
): Parsed {
  const { words, occurrences, problems } = splitWords(argv, allOptions(commands, shared))
  const asksFor = asked(words, occurrences)
  const command = commandOf(words[0] === 'help' ? words.slice(1) : words, commands)
  if (asksFor !== undefined) return { ...(command && { command }), asksFor, canonical: [], problems }
  if (command === undefined) {
    return {
      canonical: [],
      problems: [unknownCommand(words, commands), ...problems],
    }
  }

  const commandWords = command.name.split(' ')
  const positionals = words.slice(commandWords.length)
  const own = new Map(command.groups.flatMap(({ options }) => options).map((each) => [each.name, each]))
  const { given, wrong } = settleAll([...own.values()], occurrences, environment)
  const all = [
    ...problems,
    ...foreignFlags(occurrences, command, own, commands),
    ...wrong,
    // What follows an unknown flag may be its value.
    ...wrongPositionals(command, positionals, problems.length === 0),
  ]
  const flags = occurrences.map(({ name, text }) => `--${name}=${text}`)
  const canonical = [...commandWords, ...flags, '--', ...positionals]
  return all.length > 0
    ? { command, canonical, problems: all }
    : {
        command,
        canonical,
        problems: [],
        invocation: { command, positionals, given },
      }
}

function allOptions(commands: readonly Command[], shared: readonly Option[]): ReadonlyMap<string, Option> {
  const options = commands.flatMap(({ groups }) => groups.flatMap((group) => group.options))
  return new Map([...options, ...shared].map((option) => [option.name, option]))
}

/** The command with the most words that are all there: `proxy stdio` before `proxy`. */
function commandOf(words: readonly string[], commands: readonly Command[]): Command | undefined {
  return commands
    .filter(({ name }) => name.split(' ').every((word, index) => words[index] === word))
    .sort((a, b) => b.name.length - a.name.length)[0]
}

function asked(
  [first]: readonly string[],
  occurrences: readonly Occurrence[],
): 'help' | 'version' | undefined {
  const wants = (flag: string) =>
    first === flag || occurrences.some(({ name, text }) => name === flag && text === 'true')
  return wants('help') ? 'help' : wants('version') ? 'version' : undefined
}

function settleAll(
  options: readonly Option[],
  occurrences: readonly Occurrence[],
  environment: Environment,
): {
  readonly given: ReadonlyMap<string, Given>
  readonly wrong: readonly Problem[]
} {
  const given = new Map<string, Given>()
  const wrong: Problem[] = []
  for (const option of options) {
    const settled = settle(option, occurrences, environment)
    if (settled === undefined) continue
    if ('message' in settled) wrong.push(settled)
    else given.set(option.name, settled)
  }
  return { given, wrong }
}

function unknownCommand(words: readonly string[], commands: readonly Command[]): Problem {
  const names = commands.map(({ name }) => name)
  const [first] = words
  const place = 'sallyport'
  const more = '; "sallyport --help" tells what each does'
  if (first === undefined) return { place, message: `a command is expected: ${names.join(', ')}${more}` }
  const below = names.filter((name) => name.startsWith(`${first} `)).map((name) => `"${name}"`)
  if (below.length > 0) return { place, message: `${below.join(' or ')} is expected` }
  return { place, ...unknownName('unknown command', first, names) }
}

function foreignFlags(
  occurrences: readonly Occurrence[],
  command: Command,
  own: ReadonlyMap<string, Option>,
  commands: readonly Command[],
): readonly Problem[] {
  const foreign = new Set(occurrences.map(({ name }) => name).filter((name) => !own.has(name)))
  return [...foreign].map((name) => {
    const homes = commands
      .filter(({ groups }) => groups.some(({ options }) => options.some((option) => option.name === name)))
      .map((home) => `"${home.name}"`)
    return homes.length === 0
      ? unknownFlag(`--${name}`, own)
      : {
          place: `--${name}`,
          message: `is a flag of ${homes.join(' and ')}, not of "${command.name}"`,
        }
  })
}

// Positionals are counted and never repeated: a secret whose flag was forgotten is one.
function wrongPositionals(
  command: Command,
  positionals: readonly string[],
  countable: boolean,
): readonly Problem[] {
  const { positionals: expected, name } = command
  const wrong = expected.flatMap((each, index) => wrongPositional(each, positionals[index]))
  if (wrong.length > 0 || positionals.length <= expected.length || !countable) return wrong
  const place = expected.length === 0 ? `sallyport ${name}` : expected.map((each) => each.name).join(' ')
  const wanted = expected.length === 0 ? 'no argument is' : `${expected.length} is`
  const are = positionals.length === 1 ? 'is' : 'are'
  return [{ place, message: `${wanted} expected, ${positionals.length} ${are} given` }]
}

function wrongPositional(expected: Positional, text: string | undefined): readonly Problem[] {
  const { name: place, choices, reserved = [], required } = expected
  const wanted = choices === undefined ? expected.help : choices.join(' or ')
  if (text === undefined) return required === true ? [{ place, message: `is required: ${wanted}` }] : []
  if (text === '') return [{ place, message: `is empty: ${wanted}` }]
  if (reserved.includes(text)) {
    return [
      {
        place,
        message: `${reserved.join(' and ')} are reserved for commands, another name is expected`,
      },
    ]
  }
  return choices === undefined || choices.includes(text)
    ? []
    : [{ place, message: `${choices.join(' or ')} is expected` }]
}
