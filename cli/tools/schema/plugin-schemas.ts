import { type JsonSchema, jsonSchemaOf } from 'sallyport/embed'
import { isJsonObject } from 'sallyport/toolkit'
import type { KnownPlugin } from '../../config/known-plugins.js'

/** A reference to the options of a plugin in `$defs`. */
export const referenceTo = (use: string): JsonSchema => ({ $ref: `#/$defs/${pointer(use)}` })

/** A text with `${env:NAME}` or `${file:PATH}`: an editor does not know its value. */
export const reference: JsonSchema = { type: 'string', pattern: '\\$\\{(?:env|file):[^}]+\\}' }

/** The options of every plugin by its name, for `$defs`. */
export function definitions(plugins: readonly KnownPlugin[]): JsonSchema {
  const schemas = plugins.map(({ use, plugin }) => [use, optionsOf(use, plugin.options)])
  return Object.fromEntries(schemas)
}

function optionsOf(use: string, schema: KnownPlugin['plugin']['options']): JsonSchema {
  const { $schema: _, ...options } = jsonSchemaOf(schema) ?? {}
  return moved(options, pointer(use)) as JsonSchema
}

/** A schema without one of its properties. */
export function optionsWithout(known: JsonSchema, omitted: string): JsonSchema {
  const { properties, required, ...rest } = known
  const left = isJsonObject(properties) ? Object.entries(properties).filter(([name]) => name !== omitted) : []
  return { ...rest, properties: Object.fromEntries(left), required: without(required, omitted) }
}

export function optionsWith(known: JsonSchema, name: string, added: JsonSchema): JsonSchema {
  const { properties } = known
  return { ...known, properties: { ...(isJsonObject(properties) && properties), [name]: added } }
}

/** A schema with `if`, `then` and `else`. Not an object literal: with a member `then` it would look like a promise. */
export const conditional = (condition: JsonSchema, yes: JsonSchema, no?: JsonSchema): JsonSchema =>
  Object.fromEntries([['if', condition], ['then', yes], ...(no === undefined ? [] : [['else', no]])])

/** A schema that applies `then` to an entry whose `key` is `word`. */
export const when = (key: string, word: string, then: JsonSchema): JsonSchema =>
  conditional({ properties: { [key]: { const: word } }, required: [key] }, then)

/** A schema that allows a reference wherever a text has to match a rule. */
export function withReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withReferences)
  if (!isJsonObject(schema)) return schema
  const { type, pattern, format, enum: choices, minLength, ...rest } = schema
  if (type === 'string' && [pattern, format, choices].some((rule) => rule !== undefined)) {
    const form = { type, ...defined({ pattern, format, enum: choices, minLength }) }
    return { ...rest, anyOf: [form, reference] }
  }
  // Keys cannot hold references, and defaults and examples are no schemas.
  const kept = ['propertyNames', 'default', 'examples', 'const', 'if']
  return Object.fromEntries(
    Object.entries(schema).map(([key, inner]) => [key, kept.includes(key) ? inner : withReferences(inner)]),
  )
}

/** A schema whose internal references point to `$defs/target`, where it moves. */
function moved(schema: unknown, target: string): unknown {
  if (Array.isArray(schema)) return schema.map((each) => moved(each, target))
  if (!isJsonObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, inner]) => {
      const local = key === '$ref' && typeof inner === 'string' && inner.startsWith('#')
      return [key, local ? `#/$defs/${target}${String(inner).slice(1)}` : moved(inner, target)]
    }),
  )
}

const pointer = (use: string): string => encodeURIComponent(use.replaceAll('~', '~0').replaceAll('/', '~1'))

const without = (names: unknown, omitted: string): readonly unknown[] =>
  Array.isArray(names) ? names.filter((name) => name !== omitted) : []

const defined = (rules: Readonly<Record<string, unknown>>): JsonSchema =>
  Object.fromEntries(Object.entries(rules).filter(([, rule]) => rule !== undefined))

/** A copy with the schema at a path changed. */
export function changed(
  schema: JsonSchema,
  [step, ...rest]: readonly string[],
  change: (there: JsonSchema) => JsonSchema,
): JsonSchema {
  if (step === undefined) return change(schema)
  return { ...schema, [step]: changed(asSchema(schema[step]), rest, change) }
}

export const asSchema = (value: unknown): JsonSchema => (isJsonObject(value) ? value : {})
