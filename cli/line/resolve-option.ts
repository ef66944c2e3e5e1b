import type { Problem } from 'sallyport'
import type { Environment } from './environment.js'
import { environmentNames, variableOf } from './environment.js'
import type { Option, ResolvedOption } from './option.js'
import { accumulates } from './option.js'
import { expectation, readOption, textsOfVariable } from './read.js'
import type { Occurrence } from './tokenize.js'

interface Written {
  readonly texts: readonly string[]
  readonly source: ResolvedOption['source']
  readonly place: string
}

interface Unresolved {
  readonly problem: Problem
  /** No flag and no variable sets it. */
  readonly isMissing?: true
}

/** The value of one option: the flag wins over the environment, the environment over the default. */
export function resolveOption(
  option: Option,
  occurrences: readonly Occurrence[],
  environment: Environment,
): ResolvedOption | Unresolved | undefined {
  const written = whereWritten(option, occurrences, environment)
  if (written === undefined) return option.required === true ? missing(option) : absent(option)
  const { texts, source, place } = written
  if (source === 'flag' && texts.length > 1 && !accumulates(option)) {
    return { problem: { place, message: 'is repeated, one value is expected' } }
  }
  const value = readOption(option, texts)
  return value === undefined
    ? { problem: { place, message: `${expectation(option)} is expected` } }
    : { value, source, place }
}

function whereWritten(
  option: Option,
  occurrences: readonly Occurrence[],
  environment: Environment,
): Written | undefined {
  const flag = `--${option.name}`
  const texts = occurrences.filter(({ name }) => name === option.name).map(({ text }) => text)
  if (texts.length > 0) return { texts, source: 'flag', place: flag }
  const variable = variableOf(option, environment)
  if (variable !== undefined) {
    const { name, text } = variable
    return {
      texts: textsOfVariable(option, text),
      source: 'environment',
      place: name,
    }
  }
  return option.default === undefined
    ? undefined
    : { texts: [option.default], source: 'default', place: flag }
}

function absent(option: Option): ResolvedOption | undefined {
  const place = `--${option.name}`
  if (option.type === 'boolean') return { value: false, source: 'default', place }
  return accumulates(option) ? { value: [], source: 'default', place } : undefined
}

function missing(option: Option): Unresolved {
  const [variable] = environmentNames(option)
  const or = variable === undefined ? '' : ` (or ${variable} in the environment)`
  const message = `is required, ${expectation(option)} is expected${or}`
  return { problem: { place: `--${option.name}`, message }, isMissing: true }
}
