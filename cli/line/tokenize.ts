import { type ParseArgsConfig, parseArgs } from 'node:util'
import type { Problem } from 'sallyport'
import { nearest } from '#core/contract/problem.js'
import type { Option } from './option.js'
import { expectation } from './read.js'

/** One use of a flag. */
export interface Occurrence {
  readonly name: string
  readonly text: string
}

/** The flags of a command line, and all its other words in their order. */
export interface Tokens {
  readonly words: readonly string[]
  readonly occurrences: readonly Occurrence[]
  readonly problems: readonly Problem[]
}

/**
 * Splits a command line into flags, their values and other words. `options` holds the flags of all commands, since a
 * flag may stand before the words of its command; a flag takes a value in all commands or in none.
 */
export function tokenize(argv: readonly string[], options: ReadonlyMap<string, Option>): Tokens {
  const words: string[] = []
  const occurrences: Occurrence[] = []
  const problems: Problem[] = []
  let before = -1
  for (const token of tokensOf(argv, options)) {
    // A group of short flags is one word. After an unknown first letter the rest is neither read nor repeated, since
    // some programs take a password as `-pSECRET`.
    const isRest = token.index === before
    before = token.index
    if (token.kind === 'positional') words.push(token.value)
    if (token.kind !== 'option' || isRest) continue
    const { name, rawName, index } = token
    const option = options.get(name)
    const value = token.value
    const isInline = token.inlineValue === true
    if (option === undefined) problems.push(unknownFlag(rawName, options))
    else if (option.type === 'boolean') occurrences.push({ name, text: value ?? 'true' })
    else if (value !== undefined && (isInline || !looksLikeFlag(value)))
      occurrences.push({ name, text: value })
    else {
      problems.push(missingValue(option))
      // A secret may begin with a dash. Read as a flag, it would be repeated in a message.
      const at = index + (value !== undefined && !isKnown(value, options) ? 2 : 1)
      const rest = tokenize(argv.slice(at), options)
      return {
        words: [...words, ...rest.words],
        occurrences: [...occurrences, ...rest.occurrences],
        problems: [...problems, ...rest.problems],
      }
    }
  }
  return { words, occurrences, problems }
}

function tokensOf(argv: readonly string[], options: ReadonlyMap<string, Option>) {
  const known = [...options.values()].map(({ name, type, short }) => [
    name,
    { type: type === 'boolean' ? 'boolean' : 'string', ...(short !== undefined && { short }) },
  ])
  const config: ParseArgsConfig['options'] = Object.fromEntries(known)
  return parseArgs({ args: [...argv], options: config, strict: false, allowPositionals: true, tokens: true })
    .tokens
}

const looksLikeFlag = (word: string): boolean => word.length > 1 && word.startsWith('-')

const isKnown = (word: string, options: ReadonlyMap<string, Option>): boolean =>
  word === '--' ||
  tokensOf([word], options).some((token) => token.kind === 'option' && options.has(token.name))

/** The problem of a flag that is not among `options`. */
export function unknownFlag(label: string, options: ReadonlyMap<string, Option>): Problem {
  const suggestion = label.startsWith('--') ? nearest(label.slice(2), options.keys()) : undefined
  return {
    place: label.length > 60 ? `${label.slice(0, 60)}...` : label,
    message: 'unknown flag',
    ...(suggestion === undefined ? {} : { suggestion: `--${suggestion}` }),
  }
}

function missingValue(option: Option): Problem {
  const flag = `--${option.name}`
  return {
    place: flag,
    message: `has no value, ${expectation(option)} is expected; write a value that begins with "-" as ${flag}=VALUE`,
  }
}
