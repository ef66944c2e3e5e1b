import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { type Problem, unknownName } from '../contract/problem.js'
import { isJsonObject } from '../toolkit/json-object.js'
import { type Fault, FaultFinder } from './find-faults.js'

/** A JSON Schema document. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** A problem of options, at a path inside them. */
type OptionProblem = Omit<Problem, 'place'> & { readonly path: readonly (string | number)[] }

export type Validated = { readonly value: unknown } | { readonly problems: readonly OptionProblem[] }

/** Validates options with the plugin's own schema, of whichever library. */
export async function validateOptions(
  schema: StandardSchemaV1 | undefined,
  written: unknown,
): Promise<Validated> {
  const given = written ?? {}
  if (schema === undefined) return withoutOptions(given)

  const finder = new FaultFinder(given)
  const problems: OptionProblem[] = []
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const result = await schema['~standard'].validate(finder.value)
      if (result.issues === undefined) {
        if (round === 0) return { value: result.value }
        break
      }
      const faults = result.issues.flatMap((issue) => describe(issue, schema))
      problems.push(...finder.take(faults).map(({ expected: _, ...problem }) => problem))
    }
  } catch {
    // The error of a schema may quote the value.
    if (problems.length === 0)
      return { problems: [{ path: [], message: 'the schema of this plugin failed on these options' }] }
  }
  return {
    problems: problems.length > 0 ? problems : [{ path: [], message: 'these options were not accepted' }],
  }
}

// Each finds what the one before hid.
const ROUNDS = 5

/** The JSON Schema of the options, when the plugin's schema can make one. */
export function jsonSchemaOf(schema: StandardSchemaV1 | undefined): JsonSchema | undefined {
  if (schema === undefined) return { type: 'object', properties: {}, additionalProperties: false }
  const standard = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  try {
    return standard.jsonSchema?.input({ target: 'draft-2020-12' })
  } catch {
    // It cannot be expressed in JSON Schema. Callers then treat every value as a secret.
    return undefined
  }
}

function withoutOptions(given: unknown): Validated {
  const keys = typeof given === 'object' && given !== null ? Object.keys(given) : ['']
  if (keys.length === 0) return { value: {} }
  return {
    problems: keys.map((key) => ({ path: key === '' ? [] : [key], message: 'this plugin takes no options' })),
  }
}

interface RichIssue extends StandardSchemaV1.Issue {
  readonly code?: string
  readonly keys?: readonly string[]
  /** What is wrong with a key, where `code` is `invalid_key`. */
  readonly issues?: readonly { readonly message: string }[]
  readonly input?: unknown
  readonly expected?: unknown
}

function describe(issue: RichIssue, schema: StandardSchemaV1): (OptionProblem & Fault)[] {
  const path = (issue.path ?? []).map((part) => keyOf(typeof part === 'object' ? part.key : part))
  if (issue.code !== 'unrecognized_keys' || issue.keys === undefined) {
    const { code, expected, issues = [] } = issue
    const type = code === 'invalid_type' && typeof expected === 'string' ? { expected } : {}
    const { message } = (code === 'invalid_key' ? issues[0] : undefined) ?? issue
    return [{ path, message: plain(message), ...type }]
  }

  const known = knownKeys(jsonSchemaOf(schema), path)
  return issue.keys.map((key) => ({ path: [...path, key], ...unknownName('unknown option', key, known) }))
}

const keyOf = (key: PropertyKey): string | number => (typeof key === 'number' ? key : String(key))

// Messages of Zod, for options.
const plain = (message: string): string =>
  message
    .replace(/^Invalid input: expected (.+), received undefined$/, 'missing: expected $1')
    .replace(/^Invalid input: expected (.+), received (.+)$/, 'expected $1, got $2')
    .replace(
      /^Invalid option: expected one of (.+)$/,
      (_, names: string) => `expected one of ${names.replaceAll('|', ', ')}`,
    )
    .replace(/^Too small: expected string to have >=1 characters$/, 'expected a text that is not empty')
    .replace(/^Too (?:small|big): expected (?:array|string) to have (.+)$/, 'expected $1')
    .replace(/^Too (?:small|big): expected number to be (.+)$/, 'expected a number $1')
    .replace(/^Invalid (?:input|URL)$/, (whole) =>
      whole.endsWith('URL') ? 'expected a URL' : 'not one of the accepted forms',
    )

/** The names that a schema knows at a path, for suggestions. */
function knownKeys(schema: JsonSchema | undefined, path: readonly (string | number)[]): string[] {
  let here: unknown = schema
  for (const step of path) {
    if (!isJsonObject(here)) return []
    const { properties, items, additionalProperties } = here
    here =
      typeof step === 'number'
        ? items
        : isJsonObject(properties)
          ? (properties[step] ?? additionalProperties)
          : additionalProperties
  }
  return isJsonObject(here) && isJsonObject(here['properties']) ? Object.keys(here['properties']) : []
}
