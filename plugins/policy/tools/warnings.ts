import { isDeepStrictEqual } from 'node:util'
import type { Problem } from 'sallyport'
import { covers } from 'sallyport/toolkit'
import { type CompiledPattern, compilePatterns } from './compiled-pattern.js'
import type { Rule } from './options.js'

/** Warnings about patterns that can never matter, and patterns with a probable spelling mistake. */
export function warningsOf(rules: readonly Rule[]): readonly Problem[] {
  const patterns = compilePatterns(rules)
  return patterns.flatMap((pattern, index) => {
    const message =
      misspelled(pattern) ??
      deniedAlways(pattern, patterns, rules) ??
      repeated(pattern, index, patterns, rules)
    return message === undefined ? [] : [{ place: pattern.path, message }]
  })
}

function misspelled({ text, kind }: CompiledPattern): string | undefined {
  if (kind !== 'tool' || text.startsWith('tool:')) return undefined
  if (!/^(?:tools?|prompts?|resources?):|:\/\//i.test(text)) return undefined
  return `is read as the name of a tool: prompts and resources begin with "prompt:" and "resource:", in lower case; write "tool:${text}" if you mean such a tool`
}

/** The message for an allow of names that another rule denies to all callers. */
function deniedAlways(
  pattern: CompiledPattern,
  patterns: readonly CompiledPattern[],
  rules: readonly Rule[],
): string | undefined {
  if (!pattern.isAllow) return undefined
  const by = patterns.find(
    (other) => !other.isAllow && rules[other.rule]?.when === undefined && coversPattern(other, pattern),
  )
  return by && `allows nothing: ${by.place} denies all of it, and a deny wins`
}

/**
 * The message for a pattern when another one does the same for at least the same callers; of two equal ones, for the
 * second.
 */
function repeated(
  pattern: CompiledPattern,
  index: number,
  patterns: readonly CompiledPattern[],
  rules: readonly Rule[],
): string | undefined {
  const by = patterns.find(
    (other, position) =>
      other.isAllow === pattern.isAllow &&
      holdsWherever(rules[other.rule], rules[pattern.rule]) &&
      repeats(other, pattern) &&
      (position < index ||
        !(repeats(pattern, other) && holdsWherever(rules[pattern.rule], rules[other.rule]))),
  )
  return by && `changes nothing: ${by.place} already ${pattern.isAllow ? 'allows' : 'denies'} all of it`
}

function holdsWherever(one: Rule = {}, other: Rule = {}): boolean {
  const hasSame = (key: 'when' | 'scopes'): boolean =>
    one[key] === undefined || isDeepStrictEqual(one[key], other[key])
  return hasSame('when') && hasSame('scopes')
}

// An allow for URIs compares more than the text of its pattern: only the same pattern is sure to allow the same URIs.
const repeats = (one: CompiledPattern, other: CompiledPattern): boolean =>
  one.kind === 'resource' && one.isAllow
    ? one.kind === other.kind && one.glob.join('*') === other.glob.join('*')
    : coversPattern(one, other)

const coversPattern = (one: CompiledPattern, other: CompiledPattern): boolean =>
  one.kind === other.kind && covers(one.glob, other.glob)
