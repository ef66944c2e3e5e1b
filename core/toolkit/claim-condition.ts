import { z } from 'zod'
import type { Identity } from '../contract/identity.js'
import { isJsonObject } from './json-object.js'

export type ClaimValue = string | number | boolean

/** Names of claims, and what each has to be or to hold. */
export type ClaimCondition = Readonly<Record<string, ClaimValue | readonly ClaimValue[]>>

// The second is its name at Entra and Okta.
const SCOPES = ['scope', 'scp']

const EXPECTED =
  'expected a text that is not empty, a number, true or false, or a list of them with at least one'

// An empty claim says nothing of its caller: it would hold for all whom the issuer knows little of.
const value = z.union([z.string().min(1), z.number(), z.boolean()])

/** An option that asks for claims: every claim named has to match. */
export function claimCondition() {
  return z.preprocess(
    (written, context) => {
      // Zod leaves out this name: what remained of the condition would hold for more callers than were meant.
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
        // It is compared word by word, and would never match.
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

/** Whether an identity has every claim named, with one of its values. Nobody has none. */
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

/** The claim of this name or, where there is none, what stands at this path of names with dots between them. */
function claimOf({ claims, scopes }: Identity, name: string): unknown {
  // A `deny` must hold whatever the token calls them.
  if (SCOPES.includes(name)) return [...(scopes ?? []), ...wordsOf(claims[name])]
  let here: unknown = claims
  for (const part of Object.hasOwn(claims, name) ? [name] : name.split('.')) {
    // Only what the token says: every object has a `constructor` that it does not say.
    if (!isJsonObject(here) || !Object.hasOwn(here, part)) return undefined
    here = here[part]
  }
  return here
}

// RFC 8693, 4.2: one text with spaces between the scopes.
const wordsOf = (scope: unknown): readonly unknown[] =>
  typeof scope === 'string' ? scope.split(' ') : [scope].flat()
