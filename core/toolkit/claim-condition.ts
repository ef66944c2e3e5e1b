import { z } from 'zod'
import type { Identity } from '../contract/identity.js'
import { isJsonObject } from './json-object.js'

export type ClaimValue = string | number | boolean

/** Names of claims, with the values of which each claim has to be or to hold one. */
export type ClaimCondition = Readonly<Record<string, ClaimValue | readonly ClaimValue[]>>

// Entra and Okta call the claim `scp`.
const SCOPES = ['scope', 'scp']

const EXPECTED =
  'expected a text that is not empty, a number, true or false, or a list of them with at least one'

// Issuers leave claims empty when they know little of a caller: an empty value would match all of these callers.
const value = z.union([z.string().min(1), z.number(), z.boolean()])

/** An option that requires claims: every named claim has to match. */
export function claimCondition() {
  return z.preprocess(
    (written, context) => {
      // Zod drops this name, and the rest of the condition would match more callers than the operator meant.
      if (isJsonObject(written) && Object.hasOwn(written, '__proto__'))
        context.addIssue({ code: 'custom', message: '"__proto__" is not the name of a claim' })
      return written
    },
    z
      .record(
        z.string().min(1, 'expected the name of a claim'),
        z.union([value, z.array(value).min(1)], { error: EXPECTED }),
      )
      .superRefine((condition, context) => {
        if (Object.keys(condition).length === 0)
          context.addIssue({
            code: 'custom',
            message: 'names no claim: write at least one, such as { groups: [writers] }',
          })
        // Scopes are compared word by word, so this value would never match.
        for (const name of SCOPES)
          if (valuesOf(condition[name]).some((text) => /[ ]|^$/.test(`${text}`)))
            context.addIssue({
              code: 'custom',
              path: [name],
              message: 'expected one scope, or a list with each scope by itself',
            })
      }),
  )
}

/** Whether an identity has every named claim, with one of its values. A caller without an identity has none. */
export const matchesClaims = (condition: ClaimCondition, identity: Identity | undefined): boolean =>
  unmatchedClaims(condition, identity).length === 0

/** The names in a condition that an identity does not match. */
export function unmatchedClaims(
  condition: ClaimCondition,
  identity: Identity | undefined,
): readonly string[] {
  return Object.keys(condition).filter(
    (name) => identity === undefined || !holdsOne(claimOf(identity, name), valuesOf(condition[name])),
  )
}

const valuesOf = (values: ClaimCondition[string] | undefined): readonly ClaimValue[] =>
  values === undefined ? [] : typeof values === 'object' ? values : [values]

function holdsOne(claim: unknown, values: readonly ClaimValue[]): boolean {
  return values.some((wanted) => (Array.isArray(claim) ? claim.includes(wanted) : claim === wanted))
}

/** The claim of this name or, without one, the value at this path of names with dots between them. */
function claimOf({ claims, scopes }: Identity, name: string): unknown {
  // A `deny` must match whichever claim the token uses for scopes.
  if (SCOPES.includes(name)) return [...(scopes ?? []), ...wordsOf(claims[name])]
  let found: unknown = claims
  for (const part of Object.hasOwn(claims, name) ? [name] : name.split('.')) {
    // Own members only: every object inherits a `constructor` that the token does not have.
    if (!isJsonObject(found) || !Object.hasOwn(found, part)) return undefined
    found = found[part]
  }
  return found
}

// RFC 8693, 4.2: one text with spaces between the scopes.
const wordsOf = (scope: unknown): readonly unknown[] =>
  typeof scope === 'string' ? scope.split(' ') : [scope].flat()
