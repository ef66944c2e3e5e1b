import type { Problem, SettingPath } from 'sallyport'
import { isJsonObject } from 'sallyport/toolkit'
import { z } from 'zod'
import { unknownName } from '#core/contract/problem.js'
import { valueAt, withoutConsequences } from '#core/kernel/validate-options.js'

/** A problem that has the path of its setting instead of a place in the file. */
export interface Complaint extends Omit<Problem, 'place'> {
  readonly path: SettingPath
  /** The key itself is wrong, and not its value. */
  readonly part?: 'key'
}

/** All complaints of a schema about a value. */
export function complaintsOf(schema: z.ZodType, value: unknown, error: z.ZodError): readonly Complaint[] {
  const complaints = error.issues.flatMap((issue): readonly Complaint[] => {
    const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)))
    if (issue.code === 'unrecognized_keys') return unknownKeys(issue.keys, path, schema)
    const written = valueAt(value, path)
    const known = issue.code === 'custom' ? knownNames(asMapping(issue.params), value) : undefined
    if (typeof written === 'string' && known !== undefined)
      return [{ path, ...unknownName(issue.message, written, known) }]
    // A custom rule has its own message for a missing value.
    const missing = written === undefined && issue.code !== 'custom'
    return [{ path, message: `${missing ? 'is required, ' : ''}${expectation(issue)}` }]
  })
  return withoutConsequences(complaints, value)
}

/** The names that a rule gives, or those of the items of a list that it points to. */
function knownNames(
  { known, namedIn }: Readonly<Record<string, unknown>>,
  value: unknown,
): readonly string[] | undefined {
  if (Array.isArray(known)) return known.map(String)
  const items = Array.isArray(namedIn) ? valueAt(value, namedIn) : undefined
  return Array.isArray(items) ? [...new Set(items.map((item) => String(asMapping(item)['name'])))] : undefined
}

// Zod's own messages quote the received value for some schemas.
function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'custom') return issue.message
  if (issue.code === 'invalid_type') return `a ${kinds[issue.expected] ?? issue.expected} is expected`
  if (issue.code === 'invalid_value') return `${issue.values.map(String).join(' or ')} is expected`
  if (issue.code === 'invalid_format' && issue.format === 'url') return 'an absolute URL is expected'
  // The message of a pattern is ours, and never quotes the value.
  if (issue.code === 'invalid_format' && issue.format === 'regex') return issue.message
  if (issue.code === 'too_small') return `at least ${issue.minimum} ${unit(issue.origin)} is expected`
  return 'another value is expected'
}

const kinds: Readonly<Record<string, string>> = {
  string: 'text',
  array: 'list',
  object: 'mapping',
  record: 'mapping',
  boolean: 'true or false',
}

function unit(origin: string): string {
  return origin === 'string' ? 'character' : 'item'
}

function unknownKeys(keys: readonly string[], path: SettingPath, schema: z.ZodType): readonly Complaint[] {
  const known = Object.keys(asMapping(schemaAt(schema, path)['properties']))
  return keys.map((key) => ({
    path: [...path, key],
    part: 'key',
    ...unknownName('unknown key', key, known),
  }))
}

function schemaAt(schema: z.ZodType, path: SettingPath): Readonly<Record<string, unknown>> {
  const whole: unknown = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const there = path.reduce<unknown>((here, step) => {
    const { properties, items } = asMapping(here)
    return typeof step === 'number' ? items : asMapping(properties)[step]
  }, whole)
  return asMapping(there)
}

function asMapping(value: unknown): Readonly<Record<string, unknown>> {
  return isJsonObject(value) ? value : {}
}
