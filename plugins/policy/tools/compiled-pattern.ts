import type { Denial, McpSubject } from 'sallyport'
import type { Rule } from './options.js'
import { type ParsedPattern, parsePattern } from './parse-pattern.js'

/** One pattern of a rule, with its denial for the case that it decides. */
export type CompiledPattern = ParsedPattern & {
  /** The index of its rule. */
  readonly rule: number
  readonly isAllow: boolean
  /** The pattern as the operator wrote it. */
  readonly text: string
  /** The path of the pattern in the options. */
  readonly path: string
  /** Path and text, so that an operator finds the pattern. */
  readonly place: string
  readonly denial: Denial
}

export const notAllowed = (kind: McpSubject['kind']): string => `you may not use this ${kind}`

export const compilePatterns = (rules: readonly Rule[]): readonly CompiledPattern[] =>
  rules.flatMap((rule, index) => {
    const key = rule.allow === undefined ? 'deny' : 'allow'
    return (rule[key] ?? []).flatMap((text, position): readonly CompiledPattern[] => {
      const parsed = parsePattern(text)
      // The options have refused these already.
      if (typeof parsed === 'string') return []
      const path = `rules[${index}].${key}[${position}]`
      const place = `${path} ${JSON.stringify(text)}`
      const denial = denialOf(rule, parsed.kind, place)
      return [{ ...parsed, rule: index, isAllow: key === 'allow', text, path, place, denial }]
    })
  })

function denialOf({ scopes }: Rule, kind: McpSubject['kind'], rule: string): Denial {
  if (scopes === undefined) return { allowed: false, reason: notAllowed(kind), rule }
  return { allowed: false, reason: `this ${kind} needs scopes that you do not have`, rule, scopes }
}
