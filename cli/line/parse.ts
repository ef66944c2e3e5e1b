import type { Problem } from 'sallyport'
import { unknownName } from '#core/contract/problem.js'
import type { Environment } from './environment.js'
import type { Command, Invocation, Option, Positional, ResolvedOption, ResolvedOptions } from './option.js'
import { resolveOption } from './resolve-option.js'
import type { Occurrence } from './tokenize.js'
import { tokenize, unknownFlag } from './tokenize.js'

/** A parsed command line. It has an invocation only when it has no problems. */
export interface Parsed {
  readonly command?: Command
  readonly asksFor?: 'help' | 'version'
  readonly invocation?: Invocation
  /** The readable part of a command line with problems: a command with `readsFile` looks for more problems with it. */
  readonly partial?: Invocation
  /** The command line in one fixed form: command words, `--flag=value` each, `--`, positionals. */
  readonly canonical: readonly string[]
  readonly problems: readonly Problem[]
}

/** Parses the command line and the environment by the options of the commands, and finds all problems. */
export function parse(
  argv: readonly string[],
  environment: Environment,
  commands: readonly Command[],
  shared: readonly Option[],
): Parsed {
  const { words, occurrences, problems } = tokenize(argv, allOptions(commands, shared))
  const asksFor = pageOf(words, occurrences)
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
  const { options, wrong } = resolveAll([...own.values()], occurrences, environment)
  const reported = new Set(problems.map(({ place }) => place))
  const all = [
    ...problems,
    ...flagsOfOthers(occurrences, command, own, commands),
    // A flag without its value is not reported as missing too.
    ...wrong.filter(({ place }) => !reported.has(place)),
    // A word after an unknown flag may be its value.
    ...positionalProblems(command, positionals, problems.length === 0),
  ]
  const flags = occurrences.map(({ name, text }) => `--${name}=${text}`)
  const canonical = [...commandWords, ...flags, '--', ...positionals]
  const read = { command, positionals, options, environment, problems: all }
  return { command, canonical, problems: all, ...(all.length > 0 ? { partial: read } : { invocation: read }) }
}

function allOptions(commands: readonly Command[], shared: readonly Option[]): ReadonlyMap<string, Option> {
  const options = commands.flatMap(({ groups }) => groups.flatMap((group) => group.options))
  return new Map([...options, ...shared].map((option) => [option.name, option]))
}

/** The longest command that the words begin with: `proxy stdio` before `proxy`. */
function commandOf(words: readonly string[], commands: readonly Command[]): Command | undefined {
  return commands
    .filter(({ name }) => name.split(' ').every((word, index) => words[index] === word))
    .sort((a, b) => b.name.length - a.name.length)[0]
}

function pageOf(
  [first]: readonly string[],
  occurrences: readonly Occurrence[],
): 'help' | 'version' | undefined {
  const wants = (flag: string) =>
    first === flag || occurrences.some(({ name, text }) => name === flag && text === 'true')
  return wants('help') ? 'help' : wants('version') ? 'version' : undefined
}

function resolveAll(
  table: readonly Option[],
  occurrences: readonly Occurrence[],
  environment: Environment,
): {
  readonly options: ResolvedOptions
  readonly wrong: readonly Problem[]
} {
  const options = new Map<string, ResolvedOption>()
  const wrong: Problem[] = []
  const missing: Problem[] = []
  for (const option of table) {
    const resolved = resolveOption(option, occurrences, environment)
    if (resolved === undefined) continue
    if ('value' in resolved) options.set(option.name, resolved)
    else (resolved.isMissing === true ? missing : wrong).push(resolved.problem)
  }
  // An option that is missing here may be in the file.
  return { options, wrong: options.has('config') ? wrong : [...wrong, ...missing] }
}

function unknownCommand(words: readonly string[], commands: readonly Command[]): Problem {
  const names = commands.map(({ name }) => name)
  const [first] = words
  const place = 'sallyport'
  const more = '; "sallyport --help" describes them'
  if (first === undefined) return { place, message: `a command is expected: ${names.join(', ')}${more}` }
  const below = names.filter((name) => name.startsWith(`${first} `)).map((name) => `"${name}"`)
  if (below.length > 0) return { place, message: `${below.join(' or ')} is expected` }
  return { place, ...unknownName('unknown command', first, names) }
}

function flagsOfOthers(
  occurrences: readonly Occurrence[],
  command: Command,
  own: ReadonlyMap<string, Option>,
  commands: readonly Command[],
): readonly Problem[] {
  const foreign = new Set(occurrences.map(({ name }) => name).filter((name) => !own.has(name)))
  return [...foreign].map((name) => {
    const owners = commands
      .filter(({ groups }) => groups.some(({ options }) => options.some((option) => option.name === name)))
      .map((owner) => `"${owner.name}"`)
    return owners.length === 0
      ? unknownFlag(`--${name}`, own)
      : {
          place: `--${name}`,
          message: `is a flag of ${owners.join(' and ')}, not of "${command.name}"`,
        }
  })
}

// Messages count positionals and never quote them: one may be a secret whose flag was forgotten.
function positionalProblems(
  command: Command,
  positionals: readonly string[],
  countable: boolean,
): readonly Problem[] {
  const { positionals: expected, name } = command
  const last = expected.at(-1)
  const repeated = last?.repeats === true ? positionals.slice(expected.length) : []
  const wrong = [
    ...expected.flatMap((each, index) => positionalProblem(each, positionals[index])),
    ...(last === undefined ? [] : repeated.flatMap((text) => positionalProblem(last, text))),
  ]
  const expectedCount = expected.length + repeated.length
  if (wrong.length > 0 || positionals.length <= expectedCount || !countable) return wrong
  const place = expected.length === 0 ? `sallyport ${name}` : expected.map((each) => each.name).join(' ')
  const wanted = expected.length === 0 ? 'no argument is' : `${expected.length} is`
  const are = positionals.length === 1 ? 'is' : 'are'
  return [{ place, message: `${wanted} expected, ${positionals.length} ${are} given` }]
}

function positionalProblem(expected: Positional, text: string | undefined): readonly Problem[] {
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
