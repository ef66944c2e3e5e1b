import type { Allowed, Denial, Judgement, ListedSubject, McpSubject, PolicyQuestion } from 'sallyport'
import { METHOD_FOR } from 'sallyport/toolkit'
import { namesSomething } from '../methods.js'
import { CUTS, spellingsOf, withHost } from '../spellings.js'
import type { Expression, Input } from './expression.js'

export interface Expressions {
  readonly allow: Expression | undefined
  readonly deny: Expression | undefined
}

// An expression may look through a name for each value of a list, and join it a hundred times.
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
  return firstDenial(expressions, names.map(inputOf), othersByHost(subject, names).map(inputOf)) ?? ALLOWED
}

/** By what would be called with it. */
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

/** What `allow` has to hold for, and what `deny` alone is asked about. */
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

/** All names that a server could look it up by. */
function namesOf({ kind, name }: McpSubject): readonly string[] | undefined {
  if (name.length > LONGEST_NAME) return undefined
  if (kind !== 'resource') return [name]
  const spellings = spellingsOf(name)
  return spellings && [...new Set(CUTS.flatMap((cut) => Array.from(spellings, cut)))]
}

/** With the host that a server asks in the end, where a URI writes it otherwise. */
function othersByHost(subject: McpSubject | undefined, names: readonly string[]): readonly string[] {
  if (subject?.kind !== 'resource') return []
  return names.map(withHost).filter((name) => !names.includes(name))
}
