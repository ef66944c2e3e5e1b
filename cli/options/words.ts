import type { Problem } from 'sallyport/problem'
import { nearest } from 'sallyport/problem'
import type { Option } from './option.js'
import { expectation } from './read.js'

/** One use of a flag. */
export interface Occurrence {
  readonly name: string
  readonly text: string
}

/** The command line, told apart: flags wherever they stood, and all other words in their order. */
export interface Words {
  readonly words: readonly string[]
  readonly occurrences: readonly Occurrence[]
  readonly problems: readonly Problem[]
}

/**
 * Tells flags, their values and other words apart. All commands' flags are known here, because a flag may stand
 * before the words that name its command; what takes a value is the same in every command.
 */
export function splitWords(argv: readonly string[], options: ReadonlyMap<string, Option>): Words {
  const words: string[] = []
  const occurrences: Occurrence[] = []
  const problems: Problem[] = []

  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] ?? ''
    if (word === '--') {
      words.push(...argv.slice(at + 1))
      break
    }
    const flag = flagOf(word, options)
    if (flag === undefined) {
      words.push(word)
    } else if (flag.option === undefined) {
      problems.push(unknownFlag(flag.label, options))
    } else if (flag.text !== undefined) {
      occurrences.push({ name: flag.option.name, text: flag.text })
    } else if (flag.option.type === 'boolean') {
      occurrences.push({ name: flag.option.name, text: 'true' })
    } else {
      const next = argv[at + 1]
      if (next !== undefined && !looksLikeFlag(next)) {
        occurrences.push({ name: flag.option.name, text: next })
        at++
      } else {
        problems.push(missingValue(flag.option))
        // A secret may begin with a dash. Read as a flag of its own it would be repeated in a message.
        if (next !== undefined && next !== '--' && flagOf(next, options)?.option === undefined) at++
      }
    }
  }
  return { words, occurrences, problems }
}

interface Flag {
  readonly label: string
  readonly option: Option | undefined
  readonly text: string | undefined
}

function looksLikeFlag(word: string): boolean {
  return word.length > 1 && word.startsWith('-')
}

function flagOf(word: string, options: ReadonlyMap<string, Option>): Flag | undefined {
  if (!looksLikeFlag(word) || word === '--') return undefined
  if (!word.startsWith('--')) {
    const option = [...options.values()].find(({ short }) => short !== undefined && word === `-${short}`)
    // Only its first letter: `-pSECRET` is how some programs take a password.
    return { label: word.slice(0, 2), option, text: undefined }
  }
  const equals = word.indexOf('=')
  const name = equals === -1 ? word.slice(2) : word.slice(2, equals)
  return {
    label: `--${name}`,
    option: options.get(name),
    text: equals === -1 ? undefined : word.slice(equals + 1),
  }
}

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
    message: `has no value, ${expectation(option)} is expected; one that begins with "-" is written ${flag}=VALUE`,
  }
}
