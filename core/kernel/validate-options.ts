import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { SettingPath } from '../contract/list.js'
import { type Problem, unknownName } from '../contract/problem.js'
import { isJsonObject } from '../toolkit/json-object.js'
import { pathText } from '../toolkit/path-text.js'

/** A JSON Schema document. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/** A problem of options, at a path inside them. */
type OptionProblem = Omit<Problem, 'place'> & { readonly path: SettingPath }

export type Validated = { readonly value: unknown } | { readonly problems: readonly OptionProblem[] }

/** Validates options with the plugin's own schema, made by any library. */
export async function validateOptions(
  schema: StandardSchemaV1 | undefined,
  written: unknown,
): Promise<Validated> {
  const options = written ?? {}
  if (schema === undefined) return withoutOptions(options)

  let problems: readonly OptionProblem[]
  try {
    const result = await schema['~standard'].validate(options)
    if (result.issues === undefined) return { value: result.value }
    problems = withoutConsequences(
      result.issues.flatMap((issue) => describe(issue, schema)),
      options,
    )
  } catch {
    // The error of a schema may quote the value.
    problems = [{ path: [], message: 'the schema of this plugin failed on these options' }]
  }
  return {
    problems:
      problems.length > 0 ? problems : [{ path: [], message: 'the plugin does not accept these options' }],
  }
}

/** Reports a misspelt key once: drops the problems that it causes, a missing key or a rule about several keys. */
export function withoutConsequences<P extends { readonly path: SettingPath; readonly suggestion?: string }>(
  problems: readonly P[],
  value: unknown,
): readonly P[] {
  const missing = problems
    .flatMap(({ path, suggestion }) => (suggestion === undefined ? [] : [[...path.slice(0, -1), suggestion]]))
    .filter((path) => valueAt(value, path) === undefined)
  return problems.filter(
    ({ path }) =>
      !missing.some((meant) => isWithin(path, meant) || pathText(path) === pathText(meant.slice(0, -1))),
  )
}

const isWithin = (path: SettingPath, above: SettingPath): boolean =>
  above.every((step, index) => path[index] === step)

/** The value at a path, or `undefined`. */
export const valueAt = (value: unknown, path: SettingPath): unknown =>
  path.reduce<unknown>((here, step) => {
    if (Array.isArray(here)) return typeof step === 'number' ? here[step] : undefined
    return isJsonObject(here) && Object.hasOwn(here, step) ? here[step] : undefined
  }, value)

/** The JSON Schema of the options, when the plugin's schema can make one. */
export function jsonSchemaOf(schema: StandardSchemaV1 | undefined): JsonSchema | undefined {
  if (schema === undefined) return { type: 'object', properties: {}, additionalProperties: false }
  const standard = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  try {
    return standard.jsonSchema?.input({ target: 'draft-2020-12' })
  } catch {
    // JSON Schema cannot express it. Callers then treat every value as a secret.
    return undefined
  }
}

function withoutOptions(options: unknown): Validated {
  const keys = typeof options === 'object' && options !== null ? Object.keys(options) : ['']
  if (keys.length === 0) return { value: {} }
  return {
    problems: keys.map((key) => ({ path: key === '' ? [] : [key], message: 'this plugin takes no options' })),
  }
}

interface RichIssue extends StandardSchemaV1.Issue {
  readonly code?: string
  readonly keys?: readonly string[]
  /** The problems of a key, if `code` is `invalid_key`. */
  readonly issues?: readonly { readonly message: string }[]
}

function describe(issue: RichIssue, schema: StandardSchemaV1): OptionProblem[] {
  const path = (issue.path ?? []).map((part) => keyOf(typeof part === 'object' ? part.key : part))
  if (issue.code !== 'unrecognized_keys' || issue.keys === undefined) {
    const { code, issues = [] } = issue
    const { message } = (code === 'invalid_key' ? issues[0] : undefined) ?? issue
    return [{ path, message: plain(message) }]
  }

  const known = knownKeys(jsonSchemaOf(schema), path)
  return issue.keys.map((key) => ({ path: [...path, key], ...unknownName('unknown option', key, known) }))
}

const keyOf = (key: PropertyKey): string | number => (typeof key === 'number' ? key : String(key))

// Makes messages of Zod fit for options.
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
