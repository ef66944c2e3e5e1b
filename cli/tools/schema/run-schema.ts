import { type JsonSchema, jsonSchemaOf } from 'sallyport/embed'
import type { KnownPlugin } from '../../config/known-plugins.js'
import { entry, scope } from '../../config/run-file.js'
import { changed, conditional, definitions, referenceTo, when, withReferences } from './plugin-schemas.js'

/** The schema of a file for `sallyport run`. */
export function runSchema(plugins: readonly KnownPlugin[]): JsonSchema {
  const list = { type: 'array', items: { $ref: '#/$defs/item' } }
  const root = { type: 'object', properties: { plugins: list }, required: ['plugins'] }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'A list of plugins for `sallyport run`',
    ...conditional({ type: 'array' }, list, { ...root, additionalProperties: false }),
    $defs: {
      item: conditional(
        { type: 'object', required: ['scope'] },
        { $ref: '#/$defs/scope' },
        { $ref: '#/$defs/entry' },
      ),
      scope: changed(partOf(scope), ['properties', 'plugins', 'items'], () => list.items),
      entry: {
        ...changed(partOf(entry), ['properties', 'use'], () => useSchema(plugins)),
        allOf: pluginRules(plugins),
      },
      ...definitions(plugins),
    },
  }
  return withReferences(schema) as JsonSchema
}

/** The JSON Schema of a part of the file. */
function partOf(schema: typeof entry | typeof scope): JsonSchema {
  const { $schema: _, ...part } = jsonSchemaOf(schema) ?? {}
  return part
}

/** Any text; editors offer the known plugins. */
export const useSchema = (plugins: readonly KnownPlugin[]): JsonSchema => ({
  description: 'a built-in name, a package, or a path that starts with ./, ../ or /',
  anyOf: [
    ...plugins.map(({ use, plugin }) => ({ const: use, description: plugin.summary ?? use })),
    { type: 'string' },
  ],
})

/** For each plugin the schema of `with`, and whether `with` is required. */
export const pluginRules = (plugins: readonly KnownPlugin[]): readonly JsonSchema[] =>
  plugins.map(({ use, plugin }) =>
    when('use', use, {
      properties: { with: referenceTo(use) },
      ...(needsOptions(plugin) && { required: ['with'] }),
    }),
  )

const needsOptions = ({ options }: KnownPlugin['plugin']): boolean => {
  const { required } = jsonSchemaOf(options) ?? {}
  return Array.isArray(required) && required.length > 0
}
