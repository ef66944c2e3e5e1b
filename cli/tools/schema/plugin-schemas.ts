import { type JsonSchema, jsonSchemaOf } from 'sallyport'
import type { KnownPlugin } from '../config/known-plugins.js'
import { isMapping } from '../config/path.js'

/** Where the options of a plugin stand in a schema that holds those of all. */
export const referenceTo = (use: string): JsonSchema => ({ $ref: `#/$defs/${pointer(use)}` })

/** A text that `${env:NAME}` or `${file:PATH}` will replace: what it must look like is not known before. */
const reference: JsonSchema = { type: 'string', pattern: '\\$\\{(?:env|file):[^}]+\\}' }

/** The options of every plugin by its name, for `$defs`. */
export function definitions(plugins: readonly KnownPlugin[]): JsonSchema {
  const schemas = plugins.map(({ use, plugin }) => [use, optionsOf(use, plugin.options)])
  return Object.fromEntries(schemas)
}

function optionsOf(use: string, schema: KnownPlugin['plugin']['options']): JsonSchema {
  const { $schema: _, ...options } = jsonSchemaOf(schema) ?? {}
  return moved(options, pointer(use)) as JsonSchema
}

/** The same with other names of the plugin's options: without what somebody else writes, with what it adds. */
export function optionsWithout(known: JsonSchema, taken: string): JsonSchema {
  const { properties, required, ...rest } = known
  const left = isMapping(properties) ? Object.entries(properties).filter(([name]) => name !== taken) : []
  return { ...rest, properties: Object.fromEntries(left), required: without(required, taken) }
}

export function optionsWith(known: JsonSchema, name: string, added: JsonSchema): JsonSchema {
  const { properties } = known
  return { ...known, properties: { ...(isMapping(properties) && properties), [name]: added } }
}

/** One schema or another. Not written as an object: with a member `then` it would pass for a promise. */
export const conditional = (condition: JsonSchema, yes: JsonSchema, no?: JsonSchema): JsonSchema =>
  Object.fromEntries([['if', condition], ['then', yes], ...(no === undefined ? [] : [['else', no]])])

/** `then` holds for an entry whose `key` is `word`. */
export const when = (key: string, word: string, then: JsonSchema): JsonSchema =>
  conditional({ properties: { [key]: { const: word } }, required: [key] }, then)

/** Any schema, with a reference allowed wherever a text is held to a form. */
export function withReferences(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withReferences)
  if (!isMapping(schema)) return schema
  const { type, pattern, format, enum: choices, minLength, ...rest } = schema
  if (type === 'string' && [pattern, format, choices].some((rule) => rule !== undefined)) {
    const form = { type, ...given({ pattern, format, enum: choices, minLength }) }
    return { ...rest, anyOf: [form, reference] }
  }
  // The names of keys are never replaced, and what a default or an example holds is no schema.
  const kept = ['propertyNames', 'default', 'examples', 'const', 'if']
  return Object.fromEntries(
    Object.entries(schema).map(([key, inner]) => [key, kept.includes(key) ? inner : withReferences(inner)]),
  )
}

/** References of a schema into itself, for the place where it stands now. */
function moved(schema: unknown, place: string): unknown {
  if (Array.isArray(schema)) return schema.map((each) => moved(each, place))
  if (!isMapping(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, inner]) => {
      const local = key === '$ref' && typeof inner === 'string' && inner.startsWith('#')
      return [key, local ? `#/$defs/${place}${String(inner).slice(1)}` : moved(inner, place)]
    }),
  )
}

const pointer = (use: string): string => encodeURIComponent(use.replaceAll('~', '~0').replaceAll('/', '~1'))

const without = (names: unknown, taken: string): readonly unknown[] =>
  Array.isArray(names) ? names.filter((name) => name !== taken) : []

const given = (rules: Readonly<Record<string, unknown>>): JsonSchema =>
  Object.fromEntries(Object.entries(rules).filter(([, rule]) => rule !== undefined))
