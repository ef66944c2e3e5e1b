import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { type Problem, unknownName } from './problem.js'

/** A JSON Schema document, as far as the kernel reads it. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** A complaint about options, at a path inside them. */
type OptionProblem = Omit<Problem, 'place'> & { readonly path: readonly (string | number)[] }

export type Validated = { readonly value: unknown } | { readonly problems: readonly OptionProblem[] }

/** Validates what was written with the plugin's own schema, whoever made it. */
export async function validateOptions(
  schema: StandardSchemaV1 | undefined,
  written: unknown,
): Promise<Validated> {
  const given = written ?? {}
  if (schema === undefined) return withoutOptions(given)

  try {
    const result = await schema['~standard'].validate(given)
    if (result.issues === undefined) return { value: result.value }
    const problems = result.issues.flatMap((issue) => describe(issue, schema))
    return {
      problems: problems.length > 0 ? problems : [{ path: [], message: 'these options were not accepted' }],
    }
  } catch {
    // What a foreign schema throws may quote the value it did not like.
    return { problems: [{ path: [], message: 'the schema of this plugin failed on these options' }] }
  }
}

/** The JSON Schema of what an operator may write, when the schema's maker can tell. */
export function jsonSchemaOf(schema: StandardSchemaV1 | undefined): JsonSchema | undefined {
  if (schema === undefined) return { type: 'object', properties: {}, additionalProperties: false }
  const standard = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  try {
    return standard.jsonSchema?.input({ target: 'draft-2020-12' })
  } catch {
    // Its maker cannot express this one. Callers then take every value for a secret.
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
  readonly input?: unknown
}

function describe(issue: RichIssue, schema: StandardSchemaV1): OptionProblem[] {
  const path = (issue.path ?? []).map((part) => keyOf(typeof part === 'object' ? part.key : part))
  if (issue.code !== 'unrecognized_keys' || issue.keys === undefined) {
    return [{ path, message: plain(issue.message) }]
  }

  const known = knownKeys(jsonSchemaOf(schema), path)
  return issue.keys.map((key) => ({ path: [...path, key], ...unknownName('unknown option', key, known) }))
}

const keyOf = (key: PropertyKey): string | number => (typeof key === 'number' ? key : String(key))

// Zod speaks of input; an operator wrote an option.
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
export function knownKeys(schema: JsonSchema | undefined, path: readonly (string | number)[]): string[] {
  let here: unknown = schema
  for (const step of path) {
    if (!isObject(here)) return []
    const { properties, items, additionalProperties } = here
    here =
      typeof step === 'number'
        ? items
        : isObject(properties)
          ? (properties[step] ?? additionalProperties)
          : additionalProperties
  }
  return isObject(here) && isObject(here['properties']) ? Object.keys(here['properties']) : []
}

const isObject = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null
