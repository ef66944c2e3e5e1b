import type { Problem } from 'sallyport'
import type { HostPort } from '#core/toolkit/host-port.js'
import type { Setting, SettingType } from '#plugins/presets/settings/setting.js'
import type { Io } from '../io.js'

export type OptionType = SettingType

/** One option of a command: parsing, environment, validation, help and completion follow from it. */
export interface Option extends Setting {
  readonly short?: 'f' | 'h' | 'n' | 'v'
  /** The option has no environment variable. */
  readonly flagOnly?: true
}

export interface OptionGroup {
  readonly title: string
  readonly options: readonly Option[]
}

export interface Positional {
  readonly name: string
  readonly help: string
  readonly required?: true
  /** It may be repeated; only the last positional of a command. */
  readonly repeats?: true
  readonly choices?: readonly string[]
  /** Words that are commands and so cannot be a value. */
  readonly reserved?: readonly string[]
}

export interface Invocation {
  readonly command: Command
  readonly positionals: readonly string[]
  readonly options: ResolvedOptions
  /** The variables of options, and of references in files. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The problems of the command line; only a command with `readsFile` runs in spite of them. */
  readonly problems: readonly Problem[]
}

/** Runs a command, one of `commands`. Returns the exit code; undefined means 0. */
type Run = (invocation: Invocation, io: Io, commands: readonly Command[]) => Promise<number | undefined>

/** A command without its code: the data for `--help` and for the parser. */
export interface CommandDefinition {
  /** The words that call it, such as `proxy stdio`. */
  readonly name: string
  readonly summary: string
  readonly description: string
  readonly positionals: readonly Positional[]
  readonly groups: readonly OptionGroup[]
  /** The command reads a file, and prints the problems of the command line with those of the file. */
  readonly readsFile?: true
  /** Each can be pasted into a shell, comments too. */
  readonly examples: readonly string[]
}

export interface Command extends CommandDefinition {
  /** Imports the command's module, so that `--help` loads none of them. */
  readonly run: () => Promise<Run>
}

/** `Name=Value`; the value may contain `=` and may be empty. */
export interface Pair {
  readonly name: string
  readonly value: string
}

export type OptionValue = boolean | number | string | HostPort | readonly string[] | readonly Pair[]

/** An option's value, and where it came from. */
export interface ResolvedOption {
  readonly value: OptionValue
  readonly source: 'flag' | 'environment' | 'default'
  /** The flag or the variable, for messages about problems that are found later. */
  readonly place: string
}

export type ResolvedOptions = ReadonlyMap<string, ResolvedOption>

/** Whether an option may be repeated. */
export function accumulates(option: Option): boolean {
  return option.type === 'list' || option.type === 'repeatable' || option.type === 'pair'
}

/** An option's value in the help, with alternatives: `FILE` and `DIR` are paths, lower case is literal. */
export function placeholderOf({ name, type, placeholder }: Option): string {
  const byType: Partial<Record<OptionType, string>> = {
    address: 'HOST:PORT',
    count: 'COUNT',
    duration: 'DURATION',
    pair: 'NAME=VALUE',
    port: 'PORT',
    size: 'BYTES',
    url: 'URL',
  }
  return placeholder ?? byType[type] ?? name.split('-').at(-1)?.toUpperCase() ?? 'VALUE'
}

interface ValueForms {
  /** Literal values. */
  readonly words: readonly string[]
  readonly path: 'FILE' | 'DIR' | undefined
  /** The value may also be something else than a path. */
  readonly isMixed: boolean
}

/** The possible forms of an option's value, by its placeholder and its choices. */
export function formsOf(option: Option): ValueForms {
  const forms = placeholderOf(option).split('|')
  const path = forms.find((form) => form === 'FILE' || form === 'DIR')
  const words = option.choices ?? forms.filter((form) => /^[a-z]+$/.test(form))
  return { words, path, isMixed: forms.length > 1 }
}
