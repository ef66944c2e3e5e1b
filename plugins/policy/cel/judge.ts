import type { Allowed, Denial, Judgement, ListedSubject, McpSubject, PolicyQuestion } from 'sallyport'
import { METHOD_FOR } from 'sallyport/toolkit'
import { namesSomething } from '../methods.js'
import { CUTS, resolvedPath, spellingsOf, withHost } from '../spellings.js'
import type { Expression, Input } from './expression.js'

export interface Expressions {
  readonly allow: Expression | undefined
  readonly deny: Expression | undefined
}

// An expression may search a name for each value of a list, and concatenate it a hundred times.
const LONGEST_NAME = 256

const ALLOWED: Allowed = { allowed: true }

const denied = (rule: string): Denial => ({ allowed: false, reason: 'this is not allowed for you', rule })

export function judge(expressions: Expressions, { identity, call, subject }: PolicyQuestion): Judgement {
  if (subject === undefined) {
    const isNamed = namesSomething(call.method)
    if (isNamed === false) return ALLOWED
    if (isNamed === true) return denied('a call that names nothing')
  }
  const names = subject === undefined ? [''] : namesOf(subject)
  if (names === undefined)
    return denied('a name that is too long, or a URI that servers could read in several ways')
  const inputOf = (name: string): Input => ({ identity, call, subject: subject && { ...subject, name } })
  return firstDenial(expressions, names.map(inputOf), othersOf(subject, names).map(inputOf)) ?? ALLOWED
}

/** Judges the call that would use the listed tool, prompt or resource. */
export function shows(
  expressions: Expressions,
  identity: Input['identity'],
  { kind: listed, name }: ListedSubject,
  request: PolicyQuestion['request'],
): boolean {
  const kind = listed === 'template' ? 'resource' : listed
  const subject = { kind, name }
  const call = { kind: 'request', method: METHOD_FOR[kind], subjects: [subject] } as const
  return judge(expressions, { identity, call, subject, request }).allowed
}

/** `allow` has to be true for all `inputs`; `deny` must be false for these and for the `others`. */
function firstDenial(
  { allow, deny }: Expressions,
  inputs: readonly Input[],
  others: readonly Input[],
): Denial | undefined {
  for (const input of [...inputs, ...others]) {
    const denies = deny?.(input) ?? false
    if (denies !== false) return denied(denies === true ? 'deny' : `deny: ${denies.failure}`)
  }
  for (const input of inputs) {
    const allows = allow?.(input) ?? true
    if (allows !== true) return denied(allows === false ? 'allow' : `allow: ${allows.failure}`)
  }
  return undefined
}

/** All names by which a server could look up the subject. */
function namesOf({ kind, name }: McpSubject): readonly string[] | undefined {
  if (name.length > LONGEST_NAME) return undefined
  if (kind !== 'resource') return [name]
  const spellings = spellingsOf(name)
  if (spellings === undefined) return undefined
  const names = CUTS.flatMap((cut) => Array.from(spellings, cut))
  // A URL library counts an empty segment; many servers remove it before they resolve dots. Without dots both name one
  // resource, so an expression that allows one such name need not allow the other.
  return [...new Set([...names, ...(names.some(hasDots) ? names.map(resolvedPath) : [])])]
}

const hasDots = (name: string): boolean => /(?:^|[/\\])\.{1,2}(?:[/\\?#]|$)/.test(name)

/** The names with the plain host that a server would contact, and the plain path that it would look up. */
function othersOf(subject: McpSubject | undefined, names: readonly string[]): readonly string[] {
  if (subject?.kind !== 'resource') return []
  const hosted = [...names, ...names.map(withHost)]
  const others = new Set([...hosted, ...hosted.map(resolvedPath)])
  return [...others].filter((name) => !names.includes(name))
}
