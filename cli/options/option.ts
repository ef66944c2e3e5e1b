/** How the text of an option is read. `read.ts` holds one reader for each. */
export type OptionType =
  | 'boolean'
  | 'string'
  | 'int'
  | 'count'
  | 'port'
  | 'url'
  | 'duration'
  | 'size'
  | 'address'
  | 'list'
  | 'repeatable'
  | 'pair'
  | 'choice'

/** One row of the option table: it drives parsing, the environment, validation, help and completion. */
export interface Option {
  /** The flag without its dashes. */
  readonly name: string
  readonly type: OptionType
  /** One sentence for the help, without a full stop. */
  readonly help: string
  /** What stands for the value in the help. `FILE` and `DIR` also make the shell complete paths. */
  readonly placeholder?: string
  /** Written as a person would write it, and read by the same reader. */
  readonly default?: string
  readonly required?: true
  readonly secret?: true
  readonly short?: 'h' | 'v'
  /** Further environment names, asked in this order after the one that the flag's name gives. */
  readonly env?: readonly string[]
  /** Not to be had from the environment. */
  readonly flagOnly?: true
  /** An empty value means something here; elsewhere it is an unset shell variable and refused. */
  readonly emptyAllowed?: true
  readonly choices?: readonly string[]
  readonly min?: number
  readonly max?: number
}

export interface OptionGroup {
  readonly title: string
  readonly options: readonly Option[]
}

export interface Positional {
  readonly name: string
  readonly help: string
  readonly required?: true
  readonly choices?: readonly string[]
  /** Words that are commands, now or later, and so can never be a value. */
  readonly reserved?: readonly string[]
}

/** What a command is run with. */
export interface Invocation {
  readonly command: Command
  readonly positionals: readonly string[]
  readonly given: GivenOptions
}

/** Runs a command. The number is the exit code; none means 0. */
type Run = (invocation: Invocation) => Promise<number | undefined>

export interface Command {
  /** The words that call it, such as `proxy stdio`. */
  readonly name: string
  readonly summary: string
  readonly description: string
  readonly positionals: readonly Positional[]
  readonly groups: readonly OptionGroup[]
  /** Each can be pasted into a shell, comments too. */
  readonly examples: readonly string[]
  /** Imports the command's module, so that `--help` loads none of them. */
  readonly run: () => Promise<Run>
}

/** A `Name=Value` as it was written; the value may hold `=` and may be empty. */
export interface Pair {
  readonly name: string
  readonly value: string
}

export interface Address {
  readonly host: string
  readonly port: number
}

export type OptionValue = boolean | number | string | Address | readonly string[] | readonly Pair[]

/** An option's value, and where it came from. */
export interface Given {
  readonly value: OptionValue
  readonly source: 'flag' | 'environment' | 'default'
  /** The flag or the variable, for problems that are found later. */
  readonly place: string
}

export type GivenOptions = ReadonlyMap<string, Given>

/** The types whose options may be given more than once. */
export function accumulates(option: Option): boolean {
  return option.type === 'list' || option.type === 'repeatable' || option.type === 'pair'
}
